// Has the SDK of the Copilot CLI take these steps: node copilot-own.mjs SDK PROGRAM URL STEPS, where STEPS is a file
import fs from 'node:fs';
const [sdk, program, url, steps] = process.argv.slice(2);
const { CopilotClient, RuntimeConnection, approveAll } = await import(sdk);
const connection = RuntimeConnection.forStdio({ path: program });
const client = new CopilotClient({ connection, env: process.env, workingDirectory: process.cwd(), useLoggedInUser: false });
await client.start();
const provider = { type: 'anthropic', baseUrl: url, apiKey: 'none' };
const settings = { model: process.env.COPILOT_MODEL, provider, onPermissionRequest: approveAll };
let session;
const call = (name, params) => name.split('.').reduce((at, key) => at[key], session.rpc)(params);
const wait = ms => new Promise(done => setTimeout(done, ms));
for (const [step, what, params] of JSON.parse(fs.readFileSync(steps, 'utf8'))) {
  if (step === 'new') session = await client.createSession({ ...settings, sessionId: what });
  if (step === 'resume') session = await client.resumeSession(what, settings);
  if (step === 'send') await session.sendAndWait({ prompt: what, attachments: params }, 60000);
  if (step === 'rpc') await call(what, params);
  // Goes back to before the turn with this number, counted from 0.
  if (step === 'rewind') {
    const { points } = await call('history.listRewindPoints', {});
    await call('history.rewind', { eventId: points[what].eventId, mode: 'conversation' });
  }
  if (step === 'abort') { await session.send({ prompt: what }); await wait(700); await session.abort(); await wait(300); }
  if (step === 'close') await session.disconnect();
}
await client.stop();
process.exit(0);
