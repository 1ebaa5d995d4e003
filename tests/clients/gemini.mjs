// What the Gemini CLI's own loader makes of a file: node gemini.mjs INSTALLED FILE
import path from 'node:path';
const [installed, file] = process.argv.slice(2);
const core = path.join(installed, 'node_modules/@google/gemini-cli-core/dist/src');
const { loadConversationRecord } = await import(path.join(core, 'services/chatRecordingService.js'));
const { convertSessionToClientHistory } = await import(path.join(core, 'utils/sessionUtils.js'));
const record = await loadConversationRecord(file);
const blocks = [];
for (const turn of record ? convertSessionToClientHistory(record.messages) : []) {
  for (const part of turn.parts ?? turn.content?.parts ?? []) {
    if (part.functionCall) blocks.push(['call', part.functionCall.id, part.functionCall.name]);
    else if (part.functionResponse) blocks.push(['result', part.functionResponse.id, JSON.stringify(part.functionResponse.response)]);
    else blocks.push([part.thought ? 'thinking' : 'text', turn.role ?? turn.content?.role, part.text ?? JSON.stringify(part)]);
  }
}
console.log(JSON.stringify(blocks));
