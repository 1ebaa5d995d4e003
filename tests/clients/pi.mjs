// What pi's own session manager makes of a file: node pi.mjs INSTALLED FILE
import path from 'node:path';
const [installed, file] = process.argv.slice(2);
const core = path.join(installed, 'node_modules/@mariozechner/pi-coding-agent/dist/core');
const { SessionManager } = await import(path.join(core, 'session-manager.js'));
const context = SessionManager.open(file, path.dirname(file)).buildSessionContext();
const text = content => typeof content === 'string' ? content : content.map(part => part.text ?? JSON.stringify(part)).join('\n');
const blocks = [];
for (const message of context.messages) {
  if (message.role === 'compactionSummary') blocks.push(['text', 'user', message.summary]);
  else if (message.role === 'toolResult') blocks.push(['result', message.toolCallId, text(message.content)]);
  else if (message.role === 'assistant') {
    for (const part of message.content) {
      if (part.type === 'text') blocks.push(['text', 'assistant', part.text]);
      else if (part.type === 'toolCall') blocks.push(['call', part.id, part.name]);
      else blocks.push([part.type, 'assistant', part.thinking ?? '']);
    }
  } else blocks.push(['text', message.role, message.content ? text(message.content) : JSON.stringify(message)]);
}
console.log(JSON.stringify(blocks));
