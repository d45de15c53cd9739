import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { freePorts } from '@fairlead/embedded';
import { distributionOf, lineOf, rounded, scaled, times, type Figure } from './figures.js';
import { endedChildrenCpuSeconds } from './processes.js';

const run = promisify(execFile);
const WARM_STARTS = 9;
const COMMANDS = 9;
/** All services have started and cached their compiled code by this time. */
const SETTLED_MS = 8_000;
const START_TIMEOUT_MS = 120_000;

/**
 * `fairlead up` with an existing data folder: from the command until the API serves; and with `--detach`, which adds a
 * second process. A command: from its start to its end, against a running instance.
 */
export const benchStart = async (checkout: string): Promise<Figure[]> => {
  const data = mkdtempSync(join(tmpdir(), 'fairlead-bench-'));
  const [port = 0] = await freePorts(`${data}/bench`, 1);
  const cli = join(checkout, 'apps', 'cli', 'bin', 'fairlead.mjs');
  const up = [cli, 'up', '--data', data, '--port', String(port)];
  const list = [cli, 'cluster', 'list', '--server', `http://127.0.0.1:${port}`];
  try {
    const cold = await served(up);
    const warm: number[] = [];
    const detached: number[] = [];
    let commands: Commands | undefined;
    const down = [cli, 'down', '--data', data];
    const measureCommands = async (): Promise<void> => void (commands ??= await timedCommands(list, data));
    for (let index = 0; index < WARM_STARTS; index += 1) {
      warm.push(await served(up));
      detached.push(await detachedStart(up, measureCommands, down));
    }
    const distribution = distributionOf(warm);
    return [
      {
        name: 'embedded cold start, programs cached',
        value: (factor) => `${rounded(cold * factor)} s`,
        goal: '< 3 s',
        met: (factor) => cold * factor < 3,
      },
      {
        name: 'embedded warm start',
        value: (factor) => lineOf(scaled(distribution, factor), 's', 2),
        goal: '< 1 s',
        met: (factor) => distribution.p50 * factor < 1,
      },
      times('embedded warm start with --detach', detached, 's', 2),
      ...commandFigures(commands),
    ];
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
};

/** Seconds until it serves; then stops it with Ctrl-C. */
const served = async (args: readonly string[]): Promise<number> => {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: START_TIMEOUT_MS });
  const ended = once(child, 'exit');
  let seconds: number | undefined;
  for await (const line of createInterface(child.stderr)) {
    if (seconds !== undefined || !line.startsWith('Fairlead is ready at ')) continue;
    seconds = (performance.now() - startedAt) / 1_000;
    child.kill('SIGINT');
  }
  await ended;
  if (seconds === undefined) throw new Error('fairlead up ended before it served');
  return seconds;
};

/** Seconds until the command has ended; then runs `meanwhile`, and stops the instance. */
const detachedStart = async (
  up: readonly string[],
  meanwhile: () => Promise<void>,
  down: readonly string[],
): Promise<number> => {
  const startedAt = performance.now();
  await run(process.execPath, [...up, '--detach'], { timeout: START_TIMEOUT_MS });
  const seconds = (performance.now() - startedAt) / 1_000;
  await meanwhile();
  await run(process.execPath, down, { timeout: START_TIMEOUT_MS });
  return seconds;
};

interface Timed {
  readonly seconds: readonly number[];
  /** Per command. */
  readonly cpuSeconds: number;
}

interface Commands {
  readonly list: Timed;
  readonly bareNode: Timed;
}

/** The first command compiles, and the services have just started. */
const timedCommands = async (args: readonly string[], data: string): Promise<Commands> => {
  const env = { ...process.env, FAIRLEAD_TOKEN: readFileSync(join(data, 'keys', 'local.token'), 'utf8').trim() };
  await run(process.execPath, [...args], { env, timeout: START_TIMEOUT_MS });
  await new Promise((resolve) => setTimeout(resolve, SETTLED_MS));
  return { list: await timedRuns(args, env), bareNode: await timedRuns(['-e', '0'], env) };
};

const timedRuns = async (args: readonly string[], env: NodeJS.ProcessEnv): Promise<Timed> => {
  const seconds: number[] = [];
  const cpuBefore = endedChildrenCpuSeconds();
  for (let index = 0; index < COMMANDS; index += 1) {
    const startedAt = performance.now();
    await run(process.execPath, [...args], { env, timeout: START_TIMEOUT_MS });
    seconds.push((performance.now() - startedAt) / 1_000);
  }
  return { seconds, cpuSeconds: (endedChildrenCpuSeconds() - cpuBefore) / COMMANDS };
};

const commandFigures = (commands: Commands | undefined): Figure[] => {
  if (commands === undefined) return [];
  const { list, bareNode } = commands;
  const line = ({ seconds, cpuSeconds }: Timed, factor: number): string =>
    `median ${rounded(distributionOf(seconds).p50 * factor, 2)} s (${seconds.length} values), ${rounded(cpuSeconds * factor, 2)} s of CPU each`;
  return [
    {
      name: 'a command (`fairlead cluster list`)',
      value: (factor) => line(list, factor),
      goal: '< 0.25 s',
      met: (factor) => distributionOf(list.seconds).p50 * factor < 0.25,
    },
    { name: 'a bare `node -e 0`, for comparison', value: (factor) => line(bareNode, factor) },
  ];
};
