import { newFolder, removeFolder, seededRandom } from '@fairlead/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { ChaosApi } from './api.js';
import { ChaosClusters } from './clusters.js';
import { findings, whenQuiet, type Scene } from './findings.js';
import { ChaosInstance, VICTIMS } from './instance.js';

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');
const USAGE = `npm run chaos -- [--minutes N] [--seed N] [--keep]

Starts a whole instance with simulated hosts and, for so many minutes (3), kills its services, NATS and PostgreSQL at random by
SIGKILL, at most every 2 s, while clusters are created, grown and deleted. Ends with 0 when afterwards every cluster is where it is to
be, no machine was made twice, the audit is whole, nothing is stopped, and nothing is left running.
`;

const KILL_EVERY_MS = 2_000;
const KILL_PAUSE_MAX_MS = 4_000;
const CHANGE_EVERY_MS = 1_500;
const QUIET_TIMEOUT_MS = 300_000;
const SEEDS = 1_000_000;

interface Options {
  readonly minutes: number;
  readonly seed: number;
  readonly keep: boolean;
}

/** undefined: help was requested. */
const optionsOf = (args: readonly string[]): Options | undefined => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '3' },
      seed: { type: 'string', default: String(Math.floor(Math.random() * SEEDS)) },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
  if (!(minutes > 0)) throw new Error(`--minutes ${values.minutes} is not a number above 0`);
  if (!Number.isInteger(seed)) throw new Error(`--seed ${values.seed} is not an integer`);
  return { minutes, seed, keep: values.keep };
};

const say = (line: string): void => void process.stdout.write(`${line}\n`);

/** Kills until the time is over; returns the number of kills per victim. */
const killLoop = async (
  instance: ChaosInstance,
  random: () => number,
  stop: AbortSignal,
): Promise<Readonly<Record<string, number>>> => {
  const kills: Record<string, number> = {};
  while (!stop.aborted) {
    const victim = VICTIMS[Math.floor(random() * VICTIMS.length)] ?? VICTIMS[0];
    if (instance.kill(victim)) kills[victim] = (kills[victim] ?? 0) + 1;
    const pauseMs = KILL_EVERY_MS + random() * (KILL_PAUSE_MAX_MS - KILL_EVERY_MS);
    await sleep(pauseMs, undefined, { signal: stop }).catch(() => undefined);
  }
  return kills;
};

const changeLoop = async (clusters: ChaosClusters, stop: AbortSignal): Promise<void> => {
  while (!stop.aborted) {
    await clusters.change();
    await sleep(CHANGE_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
  }
};

const sceneOf = async (instance: ChaosInstance, random: () => number): Promise<Scene> => {
  const api = new ChaosApi(instance.server, () => instance.token());
  const connection = await api.ask<{ readonly settings: { readonly endpoint: string } }>(
    { method: 'GET', path: '/connections/lab' },
    KILL_PAUSE_MAX_MS,
  );
  const lab = new ChaosApi(connection.body.settings.endpoint, () => instance.labToken());
  return { instance, api, lab, clusters: new ChaosClusters(api, random) };
};

const run = async (instance: ChaosInstance, { minutes, seed }: Options): Promise<readonly string[]> => {
  const scene = await sceneOf(instance, seededRandom(seed));
  const over = new AbortController();
  const timer = setTimeout(() => over.abort(), minutes * 60_000);
  const watch = setInterval(() => !instance.serves && over.abort(), KILL_EVERY_MS);
  try {
    // A separate random sequence, so that the kills of a seed do not depend on the speed of the clusters.
    const [kills] = await Promise.all([
      killLoop(instance, seededRandom(seed + SEEDS), over.signal),
      changeLoop(scene.clusters, over.signal),
    ]);
    const { created, grown, deleted } = scene.clusters.tally;
    const total = Object.values(kills).reduce((sum, count) => sum + count, 0);
    const victims = Object.entries(kills).map(([name, count]) => `${name} ${count}`);
    say(`${total} kills (${victims.join(', ')}); ${created} clusters created, ${grown} grown, ${deleted} deleted.`);
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
    over.abort();
  }
  const quietAtMs = Date.now();
  const open = await whenQuiet(scene, QUIET_TIMEOUT_MS);
  say(`Quiet after ${Math.round((Date.now() - quietAtMs) / 1_000)} s.`);
  return [...scene.clusters.violations, ...open, ...(await findings(scene))];
};

const main = async (): Promise<number> => {
  const options = optionsOf(process.argv.slice(2));
  if (options === undefined) {
    say(USAGE);
    return 0;
  }
  say(
    `Seed ${options.seed}, ${options.minutes} minutes: npm run chaos -- --minutes ${options.minutes} --seed ${options.seed}`,
  );
  const dataDir = newFolder('chaos');
  let instance: ChaosInstance | undefined;
  const violations: string[] = [];
  try {
    instance = await ChaosInstance.start(CHECKOUT, dataDir);
    violations.push(...(await run(instance, options)));
  } catch (error) {
    violations.push(error instanceof Error ? error.message : String(error));
  }
  violations.push(...((await instance?.stop()) ?? []));
  for (const violation of violations) say(`VIOLATION ${violation}`);
  const keep = options.keep || violations.length > 0;
  if (keep) say(`Logs and data are kept in ${dataDir}.`);
  else removeFolder(dataDir);
  say(
    violations.length === 0
      ? `chaos passed, seed ${options.seed}`
      : `chaos FAILED, ${violations.length} violations, seed ${options.seed}`,
  );
  return violations.length === 0 ? 0 : 1;
};

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
}
