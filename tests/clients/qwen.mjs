// Prints what Qwen Code would send of each session: its loader reads the file, its chat corrects the history, and its converter writes
// the messages for the OpenAI API. Arguments: the folder of the package, and the files.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const [folder, ...files] = process.argv.slice(2);
const chunks = path.join(folder, "chunks");
const chunk = (text) => fs.readdirSync(chunks).find((name) => name.startsWith("chunk-") && fs.readFileSync(path.join(chunks, name), "utf8").includes(text));
process.env.HOME = process.env.QWEN_HOME = fs.mkdtempSync(path.join(os.tmpdir(), "ctx-qwen-"));
// The class of a chat is not exported, so a copy of its chunk exports it.
const copy = path.join(chunks, "ctx-chat.js");
fs.writeFileSync(copy, fs.readFileSync(path.join(chunks, chunk("var SessionApiHistoryAccumulator = class")), "utf8") + "\nexport { LlmChat };\n");
const core = await import(copy);
const { OpenAIContentConverter } = await import(path.join(chunks, chunk("var OpenAIContentConverter = {")));
const config = new Proxy({}, { get: () => () => undefined });
const modalities = { image: true, pdf: true, audio: true, video: true };

async function sent(file) {
    const text = fs.readFileSync(file, "utf8");
    const of = (key) => new RegExp(`"${key}": ?"([^"]+)"`).exec(text)[1];
    const service = new core.SessionService(of("cwd"));
    const place = service.getSessionTranscriptPath(of("sessionId"));
    fs.mkdirSync(path.dirname(place), { recursive: true });
    fs.copyFileSync(file, place);
    const session = await service.loadSession(of("sessionId"));
    const { apiHistory } = core.buildSessionHistoryFromConversation(session.conversation);
    const chat = new core.LlmChat(config, {}, apiHistory);
    chat.repairOrphanedToolUseTurns();
    return OpenAIContentConverter.convertLlmRequestToOpenAI({ contents: chat.getRequestHistory() }, { modalities });
}

const lines = [];
for (const file of files) {
    lines.push(JSON.stringify(await sent(file)) + "\n");
}
fs.rmSync(process.env.HOME, { recursive: true });
process.stdout.write(lines.join(""), () => process.exit(0));
