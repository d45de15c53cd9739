import { cpus, release } from 'node:os';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { benchClusters } from './clusters.bench.js';
import { benchFacts } from './facts.bench.js';
import { benchHeartbeats } from './heartbeats.bench.js';
import { benchLog } from './log.bench.js';
import { benchOneMore } from './one-more.bench.js';
import { benchStart } from './start.bench.js';
import { benchUpgrade } from './upgrade.bench.js';
import { benchGone, benchWatch } from './watch.bench.js';
import { tableOf, type Figure } from './figures.js';

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

const BENCHES: Readonly<Record<string, () => Promise<Figure[]>>> = {
  start: () => benchStart(CHECKOUT),
  one: () => benchClusters(1),
  hundred: () => benchClusters(100),
  thousand: () => benchClusters(1_000),
  log: benchLog,
  facts: benchFacts,
  heartbeats: benchHeartbeats,
  upgrade: () => benchUpgrade(CHECKOUT),
  watch: benchWatch,
  gone: benchGone,
  'one-more': benchOneMore,
};

const USAGE = `npm run bench [-- <name> ...] [--out FILE]   names: ${Object.keys(BENCHES).join(', ')} (default: all)`;

const main = async (args: readonly string[]): Promise<number> => {
  const out = args.includes('--out') ? args[args.indexOf('--out') + 1] : undefined;
  const names = args.filter((arg) => !arg.startsWith('--') && arg !== out);
  const unknown = names.filter((name) => BENCHES[name] === undefined);
  if (args.includes('--help') || unknown.length > 0) {
    process.stdout.write(`${unknown.length > 0 ? `unknown: ${unknown.join(', ')}\n` : ''}${USAGE}\n`);
    return unknown.length > 0 ? 2 : 0;
  }
  const figures: Figure[] = [];
  for (const name of names.length > 0 ? names : Object.keys(BENCHES)) {
    process.stderr.write(`bench ${name} ...\n`);
    const found = (await BENCHES[name]?.()) ?? [];
    figures.push(...found);
    for (const figure of found)
      process.stderr.write(
        `  ${figure.name}: ${figure.value}${figure.goal === undefined ? '' : ` (goal ${figure.goal}: ${figure.met === true ? 'met' : 'MISSED'})`}\n`,
      );
  }
  const report = `Machine: ${cpus().length} x ${cpus()[0]?.model.trim() ?? 'unknown'}, Linux ${release()}, Node ${process.version}\n\n${tableOf(figures)}\n`;
  process.stdout.write(report);
  if (out !== undefined) writeFileSync(out, report);
  return 0;
};

process.exitCode = await main(process.argv.slice(2));
