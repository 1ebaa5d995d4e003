// The messages of pi, and of OpenClaw, as blocks.
const text = content => typeof content === 'string' ? content : content.map(part => part.text ?? JSON.stringify(part)).join('\n');

export function blocks(messages) {
  const blocks = [];
  for (const message of messages) {
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
  return blocks;
}
