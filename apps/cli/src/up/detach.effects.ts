import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, makeFolder, prepareDataFolder } from '@fairlead/embedded';
import { EXIT_CLASSES, exitCodeOf, type ExitClass } from '../exit-codes.js';
import { CliFailure } from '../failures.js';
import { readInstance, removeInstance, type Instance } from '../instance/instance.store.js';
import type { Io } from '../io/io.js';
import { formatDuration } from '../output/duration.js';
import type { UpSettings } from './up.settings.js';

const START_TIMEOUT_MS = 180_000;
const STOP_TIMEOUT_MS = 45_000;
const KILL_TIMEOUT_MS = 15_000;
const POLL_MS = 50;
const TAIL_LINES = 15;

const backgroundLog = (dataDir: string): string => join(dataDir, 'logs', 'up.log');

/**
 * Starts an instance in a process of its own that survives this one, by `up` with `args`; resolves when it serves. Throws with its last
 * words when it ends before.
 */
export const startInBackground = async (settings: UpSettings, args: readonly string[], io: Io): Promise<Instance> => {
  const log = backgroundLog(settings.dataDir);
  prepareDataFolder(settings.dataDir);
  makeFolder(dirname(log), 0o700);
  const output = openSync(log, 'w', 0o600);
  const child = spawn(process.execPath, [process.argv[1] ?? '', 'up', ...args], {
    detached: true,
    stdio: ['ignore', output, output],
    cwd: io.cwd,
    env: { ...io.env, CI: 'true' },
  });
  closeSync(output);
  child.unref();
  let hasEnded = child.pid === undefined;
  child.once('exit', () => (hasEnded = true));
  child.once('error', () => (hasEnded = true));

  const serving = (): Instance | undefined => {
    const instance = readInstance(settings.dataDir);
    return instance?.process.pid === child.pid ? instance : undefined;
  };
  await until(() => hasEnded || serving() !== undefined || io.interrupts.first.aborted, START_TIMEOUT_MS);
  const instance = serving();
  if (instance !== undefined && !hasEnded) return instance;
  if (!hasEnded) child.kill('SIGTERM');
  throw new CliFailure(io.interrupts.first.aborted ? 'interrupted' : classOfExit(child.exitCode), {
    code: 'cli.start-failed',
    message: `Fairlead did not start: ${lastWords(log).replace(/^Error: /, '')}`,
    help: `Its whole output is in ${log}.`,
  });
};

/** The detached program ends as this one would. */
const classOfExit = (code: number | null): ExitClass => {
  const [same = 'failed'] = EXIT_CLASSES.filter((exit) => exitCodeOf(exit) === code && exit !== 'ok');
  return same;
};

const lastWords = (log: string): string =>
  readFileSync(log, 'utf8').trimEnd().split('\n').slice(-TAIL_LINES).join('\n');

const until = async (holds: () => boolean, timeoutMs: number): Promise<boolean> => {
  const deadline = performance.now() + timeoutMs;
  while (!holds()) {
    if (performance.now() >= deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
};

/** Ends the instance of a data folder, wherever it was started. Answers with a sentence on what was done. */
export const bringDown = async (instance: Instance): Promise<string> => {
  const { process: known, dataDir } = instance;
  if (!isAlive(known)) {
    removeInstance(dataDir);
    return `The Fairlead of ${dataDir} was not running any more (it was killed, or the machine was restarted). Its data is untouched.`;
  }
  const startedAtMs = performance.now();
  process.kill(known.pid, 'SIGTERM');
  if (await until(() => !isAlive(known), STOP_TIMEOUT_MS)) {
    return `Stopped the Fairlead of ${dataDir} after ${formatDuration(performance.now() - startedAtMs)}. Its data is untouched.`;
  }
  process.kill(known.pid, 'SIGKILL'); // What it started ends by its wardens.
  if (!(await until(() => !isAlive(known), KILL_TIMEOUT_MS))) {
    throw new CliFailure('failed', {
      code: 'cli.stop-failed',
      message: `Process ${known.pid} is still running after SIGKILL`,
    });
  }
  removeInstance(dataDir);
  return `Killed the Fairlead of ${dataDir}: it did not stop within ${formatDuration(STOP_TIMEOUT_MS)}.`;
};
