// What pi's own session manager makes of a file: node pi.mjs INSTALLED FILE
import path from 'node:path';
import { blocks } from './blocks.mjs';
const [installed, file] = process.argv.slice(2);
const core = path.join(installed, 'node_modules/@mariozechner/pi-coding-agent/dist/core');
const { SessionManager } = await import(path.join(core, 'session-manager.js'));
console.log(JSON.stringify(blocks(SessionManager.open(file, path.dirname(file)).buildSessionContext().messages)));
