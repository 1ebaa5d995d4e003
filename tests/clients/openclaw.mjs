// What OpenClaw's own reader makes of a file: node openclaw.mjs INSTALLED FILE
import fs from 'node:fs';
import path from 'node:path';
import { blocks } from './blocks.mjs';
const [installed, file] = process.argv.slice(2);
const dist = path.join(installed, 'node_modules/openclaw/dist');
// openclaw/plugin-sdk/agent-sessions exports the same, but does not load below Node 24.
const part = fs.readdirSync(dist).find(name => /^session-manager-codec-.*\.mjs$/.test(name));
const named = Object.fromEntries(Object.values(await import(path.join(dist, part))).map(value => [value.name, value]));
const entries = named.parseSessionEntries(fs.readFileSync(file, 'utf8'));
named.migrateSessionEntries(entries);
console.log(JSON.stringify(blocks(named.buildSessionContext(entries).messages)));
