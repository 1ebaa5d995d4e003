// Has pi's own session manager change a session: node pi-own.mjs BUNDLE FILE STEPS
import path from 'node:path';
const [bundle, file, steps] = process.argv.slice(2);
const { SessionManager } = await import(path.join(bundle, 'index.js'));
const manager = SessionManager.open(file, path.dirname(file));
// The newest entry on the branch of that role, or type, that says so.
const entry = (kind, said) =>
  manager.getBranch().findLast(it => (it.message?.role ?? it.type) === kind && JSON.stringify(it.message ?? it).includes(said)).id;
const usage = { input: 0, output: 0, cacheRead: 50, cacheWrite: 0, totalTokens: 50, cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 } };
for (const [step, kind, said, value] of JSON.parse(steps)) {
  if (step === 'edit') manager.appendContextEdit(entry(kind, said), value);
  if (step === 'custom') manager.appendCustomMessageEntry('note', kind, true);
  if (step === 'label') manager.appendLabelChange(entry(kind, said), 'here');
  if (step === 'usage') manager.appendUsage('cache_warm', 'recorder', 'claude-opus-4-5', usage);
  if (step === 'system') manager.appendMessage({ role: 'system', content: kind, timestamp: Date.now() });
  if (step === 'branch' && value === null) { manager.branch(entry(kind, said)); manager.appendLabelChange(entry(kind, said), 'back'); }
  else if (step === 'branch') manager.branchWithSummary(entry(kind, said), value, undefined, undefined, usage);
}
