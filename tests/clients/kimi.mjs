// Prints the messages that Kimi Code would send for each session file, one list on each line. Its bundle exports nothing, so the
// modules that replay a session are cut out of it by the names of their source files.
import fs from "node:fs";

const [bundle, ...files] = process.argv.slice(2);
const whole = fs.readFileSync(bundle, "utf8");
const AGENT = "//#region ../../packages/agent-core-v2/src/";
const MODULES = ["agent/contextMemory/conversationTime", "llm-adapter/contract/tokens", "features/reminder/systemReminder", "agent/contextMemory/compactionHandoff",
                 "agent/contextMemory/vacuousContent", "agent/contextMemory/loopEventFold", "agent/contextMemory/toolResultRender", "agent/contextProjector/projection",
                 "wire/tree/tree", "wire/tree/fork", "wire/migration/v1.1"];

function cut(module) {
    const begin = whole.indexOf(`${AGENT}${module}.ts\n`);
    return whole.slice(begin, whole.indexOf("\n//#endregion", begin));
}

// The functions of contextOps, without the state that uses them.
const ops = cut("agent/contextMemory/contextOps");
const source = [...MODULES.map(cut), ops.slice(0, ops.indexOf("var contextMemoryKey"))].join("\n").replace(/^\t+init_[\w$]+\(\);$/gm, "");
const stubs = `
const inits = [], __esmMin = (init) => inits.push(init), original = (it) => it, isDraft = () => false, isMcpToolName = (name) => name?.startsWith("mcp__");
const freeze = (it) => it, registerUndoableProtocol = () => {}, ContextAppendMessage = 0, ContextApplyCompaction = 0, ContextClear = 0, ContextUndo = 0;
const compaction_summary_prefix_default = "", createToolMessage = (toolCallId, output) => ({ role: "tool", toolCallId, toolCalls: [],
    content: typeof output === "string" ? [{ type: "text", text: output }] : output });
class Error2 extends Error {} const ErrorCodes = {};
`;
const replay = new Function(`${stubs}${source}
inits.forEach((init) => { try { init(); } catch (error) { throw new Error(init + ": " + error); } });
return { flattenChain, foldAppendMessage, foldLoopEvent, resetFold, buildContextCompactionShape, readContextCompactionShapeInput, computeUndoCut,
         isFullyUndoable, isValidUndoCount, project, migrate: migrateV1_0ToV1_1.migrateRecord };`)();

function records(text) {
    const found = [], lines = text.replace(/^\ufeff/, "").split("\n");
    for (const [at, raw] of lines.entries()) {
        const line = raw.replace(/\r$/, "");
        if (line === "") continue;
        try {
            found.push(JSON.parse(line));
        } catch {
            break;
        }
    }
    return found.filter((record) => typeof record?.type === "string");
}

const isNumber = (it) => it === undefined || typeof it === "number";
const isCompaction = ({ summary, contextSummary, compactedCount, count, tokensBefore, tokensAfter }) =>
    (typeof (compactedCount ?? count) === "number") && isNumber(tokensBefore) && isNumber(tokensAfter) && (typeof summary === "string" || typeof contextSummary === "string" || summary?.content);

function step(state, record) {
    switch (record.type) {
        case "context.append_message": return replay.foldAppendMessage(state, record.message);
        case "context.append_loop_event": return replay.foldLoopEvent(state, record.event);
        case "context.clear": return state.length === 0 ? state : replay.resetFold([]);
        case "context.apply_compaction": {
            if (!isCompaction(record)) return state;
            return replay.resetFold([...replay.buildContextCompactionShape(state, replay.readContextCompactionShapeInput(record)).messages]);
        }
        case "context.undo": {
            if (!replay.isValidUndoCount(record.count)) return state;
            const cut = replay.computeUndoCut(state, record.count);
            return state.length > 0 && replay.isFullyUndoable(cut, record.count) ? replay.resetFold(state.slice(0, cut.cutIndex)) : state;
        }
        default: return state;
    }
}

for (const file of files) {
    let all = records(fs.readFileSync(file, "utf8"));
    if (all[0]?.protocol_version === "1.0") all = all.map(replay.migrate);
    try {
        // The reply to the next prompt ends the one that is open.
        const next = { type: "context.append_loop_event", event: { type: "step.begin", uuid: "next" } };
        const chain = [...replay.flattenChain(all), next].filter((record) => [undefined, "main"].includes(record.agentId));
        console.log(JSON.stringify(replay.project(chain.reduce(step, []))));
    } catch (error) {
        console.log(JSON.stringify({ error: String(error) }));
    }
}
