import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { freePorts } from '@fairlead/embedded';
import { distributionOf, lineOf, scaled, times, type Figure } from './figures.js';

const run = promisify(execFile);
const WARM_STARTS = 9;
const START_TIMEOUT_MS = 120_000;

/** `fairlead up` on a data folder that exists: from the command until it says that it serves; and with `--detach`, a second process of the command. */
export const benchStart = async (checkout: string): Promise<Figure[]> => {
  const data = mkdtempSync(join(tmpdir(), 'fairlead-bench-'));
  const [port = 0] = await freePorts(`${data}/bench`, 1);
  const cli = join(checkout, 'apps', 'cli', 'dist', 'bundle.mjs');
  const up = [cli, 'up', '--data', data, '--port', String(port)];
  try {
    const cold = await served(up);
    const warm: number[] = [];
    const detached: number[] = [];
    for (let index = 0; index < WARM_STARTS; index += 1) {
      warm.push(await served(up));
      detached.push(await detachedStart(up, [cli, 'down', '--data', data]));
    }
    const distribution = distributionOf(warm);
    return [
      {
        name: 'embedded cold start, programs cached',
        value: (factor) => `${(cold * factor).toFixed(1)} s`,
        goal: '< 3 s',
        met: (factor) => cold * factor < 3,
      },
      {
        name: 'embedded warm start',
        value: (factor) => lineOf(scaled(distribution, factor), 's'),
        goal: '< 1 s',
        met: (factor) => distribution.p50 * factor < 1,
      },
      times('embedded warm start with --detach', detached, 's'),
    ];
  } finally {
    rmSync(data, { recursive: true, force: true });
  }
};

/** Seconds until it serves; then ends it by Ctrl-C. */
const served = async (args: readonly string[]): Promise<number> => {
  const startedAt = performance.now();
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], timeout: START_TIMEOUT_MS });
  const ended = once(child, 'exit');
  let seconds: number | undefined;
  for await (const line of createInterface(child.stderr)) {
    if (seconds !== undefined || !line.startsWith('Serving ')) continue;
    seconds = (performance.now() - startedAt) / 1_000;
    child.kill('SIGINT');
  }
  await ended;
  if (seconds === undefined) throw new Error('fairlead up ended before it served');
  return seconds;
};

const detachedStart = async (up: readonly string[], down: readonly string[]): Promise<number> => {
  const startedAt = performance.now();
  await run(process.execPath, [...up, '--detach'], { timeout: START_TIMEOUT_MS });
  const seconds = (performance.now() - startedAt) / 1_000;
  await run(process.execPath, down, { timeout: START_TIMEOUT_MS });
  return seconds;
};
