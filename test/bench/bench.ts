import { cpus, release } from 'node:os';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { benchClusters, benchFiveNodes, benchLarge, benchOne } from './clusters.bench.js';
import { benchFacts } from './facts.bench.js';
import { benchHeartbeats } from './heartbeats.bench.js';
import { benchHostile } from './hostile.bench.js';
import { benchLog } from './log.bench.js';
import { benchOneMore } from './one-more.bench.js';
import { profileTable } from './profiles.js';
import { benchStart } from './start.bench.js';
import { benchStorm } from './storm.bench.js';
import { benchUpgrade } from './upgrade.bench.js';
import { benchGone, benchWatch } from './watch.bench.js';
import { tableOf, type Figure } from './figures.js';
import { measureYardstick, scoreOf, yardstickLine } from './yardstick.js';

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** Number of clusters of `clusters`, for comparing two versions that run at the same time. */
const CLUSTERS = Number(process.env['FAIRLEAD_BENCH_CLUSTERS'] ?? 300);

const BENCHES: Readonly<Record<string, () => Promise<Figure[]>>> = {
  start: () => benchStart(CHECKOUT),
  one: benchOne,
  five: benchFiveNodes,
  hundred: () => benchClusters(100),
  thousand: () => benchClusters(1_000),
  clusters: () => benchClusters(CLUSTERS),
  large: benchLarge,
  'one-more': benchOneMore,
  log: benchLog,
  facts: benchFacts,
  heartbeats: benchHeartbeats,
  storm: benchStorm,
  upgrade: () => benchUpgrade(CHECKOUT),
  watch: benchWatch,
  gone: benchGone,
  hostile: benchHostile,
};

const USAGE = `npm run bench [-- <name> ...] [--out FILE] [--profile]

Names: ${Object.keys(BENCHES).join(', ')} (default: all but clusters).

It begins and ends with a fixed yardstick. Its score tells how fast the machine is: 100 is the reference
in docs/performance.md. Each figure is printed as measured, and normalised by the score.

  --out FILE   also writes the table to FILE
  --profile    writes a CPU profile of each program to dist/bench/profiles, and prints the functions that cost most
`;

const measureAll = async (names: readonly string[]): Promise<Figure[]> => {
  const figures: Figure[] = [];
  for (const name of names) {
    process.stderr.write(`bench ${name} ...\n`);
    const found = (await BENCHES[name]?.()) ?? [];
    figures.push(...found);
    for (const figure of found) process.stderr.write(`  ${figure.name}: ${figure.value(1)}\n`);
  }
  return figures;
};

/** Programs started by a measurement read the arguments for Node.js from the environment. */
const prepareProfiles = (): string => {
  const folder = join(CHECKOUT, 'dist', 'bench', 'profiles');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  process.env['FAIRLEAD_NODE_ARGUMENTS'] = `--cpu-prof --cpu-prof-dir=${folder}`;
  return folder;
};

const main = async (): Promise<number> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      help: { type: 'boolean', default: false },
      out: { type: 'string' },
      profile: { type: 'boolean', default: false },
    },
  });
  const unknown = positionals.filter((name) => BENCHES[name] === undefined);
  if (values.help || unknown.length > 0) {
    process.stdout.write(`${unknown.length > 0 ? `unknown: ${unknown.join(', ')}\n` : ''}${USAGE}`);
    return unknown.length > 0 ? 2 : 0;
  }
  const profiles = values.profile ? prepareProfiles() : undefined;
  const before = await measureYardstick();
  process.stderr.write(`yardstick: ${yardstickLine(before)}\n`);
  const figures = await measureAll(
    positionals.length > 0 ? positionals : Object.keys(BENCHES).filter((name) => name !== 'clusters'),
  );
  const after = await measureYardstick();
  const factor = (scoreOf(before) + scoreOf(after)) / 2 / 100;
  const machine = `Machine: ${cpus().length} x ${cpus()[0]?.model.trim() ?? 'unknown'}, Linux ${release()}, Node ${process.version}`;
  const yardsticks = `Yardstick before: ${yardstickLine(before)}\nYardstick after: ${yardstickLine(after)}`;
  const report = `${machine}\n${yardsticks}\n\n${tableOf(figures, factor)}\n`;
  process.stdout.write(report);
  if (profiles !== undefined) process.stdout.write(`\n${profileTable(profiles)}\n`);
  if (values.out !== undefined) writeFileSync(values.out, report);
  return 0;
};

process.exitCode = await main();
