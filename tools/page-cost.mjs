// What the operator's page costs `npm start`: starts in turns with and without the page, and prints the medians of the
// time until the gateway is ready. Run it on an idle machine after `node tools/start.mjs --prepare-only` and
// `node tools/page.mjs`.
//
//     node tools/page-cost.mjs [pairs]
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const pairs = Number(process.argv[2] ?? 5);
mkdirSync(join(root, 'dist'), { recursive: true });
/** On the file system of the checkout, to which it has links. */
const folder = mkdtempSync(join(root, 'dist', 'page-cost-'));
const COPIED = [
  'apps',
  'libs',
  'tools',
  'docs',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.base.json',
];
const READY = 'Fairlead is ready at ';
const START_TIMEOUT_MS = 120_000;

/** The checkout as it is, or without the page. Files are links, which keeps their times. */
const checkoutOf = (name, hasPage) => {
  const at = join(folder, name);
  mkdirSync(at);
  execFileSync('cp', ['-al', ...COPIED.map((part) => join(root, part)), at]);
  symlinkSync(join(root, 'node_modules'), join(at, 'node_modules'));
  if (!hasPage)
    for (const part of ['tools/page.mjs', 'apps/web/dist/page']) rmSync(join(at, part), { recursive: true });
  execFileSync(process.execPath, [join(at, 'tools', 'start.mjs'), '--prepare-only'], { stdio: ['ignore', 2, 2] });
  return at;
};

const freePort = async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
};

/** Seconds from the command until the gateway is ready; then it is stopped with Ctrl-C. */
const startOf = async (checkout) => {
  const data = join(checkout, '.fairlead', 'data');
  const args = [join(checkout, 'tools', 'start.mjs'), '--data', data, '--port', String(await freePort())];
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: START_TIMEOUT_MS });
  const ended = once(child, 'exit');
  let seconds;
  for await (const line of createInterface(child.stderr)) {
    if (seconds !== undefined || !line.startsWith(READY)) continue;
    seconds = (performance.now() - startedAt) / 1_000;
    child.kill('SIGINT');
  }
  await ended;
  if (seconds === undefined) throw new Error('npm start ended before it was ready');
  return seconds;
};

const median = (values) => values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];

try {
  const kinds = { without: checkoutOf('without', false), with: checkoutOf('with', true) };
  const times = { without: [], with: [] };
  for (const checkout of Object.values(kinds)) await startOf(checkout); // The first start creates the data folder.
  for (let pair = 0; pair < pairs; pair += 1) {
    const order = pair % 2 === 0 ? ['without', 'with'] : ['with', 'without'];
    for (const kind of order) times[kind].push(await startOf(kinds[kind]));
  }
  const [base, page] = [median(times.without), median(times.with)];
  const all = (values) => values.map((value) => value.toFixed(2)).join(', ');
  process.stdout.write(`npm start without the page: median ${base.toFixed(2)} s (${all(times.without)})\n`);
  process.stdout.write(`npm start with the page:    median ${page.toFixed(2)} s (${all(times.with)})\n`);
  process.stdout.write(`difference: ${((page / base - 1) * 100).toFixed(1)} % (goal: at most 5 %)\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
