import { readFileSync } from 'node:fs';
import { handoverWords, holdsLog, type HandoverRecord } from '@fairlead/contracts';
import { apiAt, type Api } from '../api/api.js';
import { Outage } from '../api/outage.js';
import { fetchTrusting, readAuthority } from '../api/trusting.fetch.js';
import { failureText } from '../failure.text.js';
import { CliFailure, wordsOf } from '../failures.js';
import { writeInstance, type Instance } from '../instance/instance.store.js';
import type { Io } from '../io/io.js';
import { pageLink } from '../page/page.link.effects.js';
import { formatDuration } from '../output/duration.js';
import { logFileOf, startInstance, type RunningInstance, type Watcher } from './instance.effects.js';
import { registerDefaults } from './registration.effects.js';
import { StateLines } from './state.lines.js';
import type { UpSettings } from './up.settings.js';
import { welcome } from './welcome.effects.js';

/** Runs an instance in this process until Ctrl-C, or with `once` until the demo cluster is Ready. Leaves nothing running. */
export const runHere = async (settings: UpSettings, io: Io, { once }: { readonly once: boolean }): Promise<void> => {
  try {
    await serve(settings, io, { once, watcher: watcherOf(settings, io) });
  } catch (error) {
    // Ctrl-C is how it ends, also while it starts or the demo is being made; with `once` it ended too early.
    if (once || !io.interrupts.first.aborted) throw error;
  }
};

interface ServeOptions {
  readonly once: boolean;
  readonly watcher: Watcher;
}

const serve = async (settings: UpSettings, io: Io, { once, watcher }: ServeOptions): Promise<void> => {
  const startedAtMs = performance.now();
  const { first, second } = io.interrupts;
  const running = await startInstance(settings, { ...io.env }, watcher, first);
  try {
    const api = apiOf(running.instance, io);
    const { handover } = running;
    if (handover === undefined) await registerDefaults(api, running.site);
    else io.err(`${handoverNotice(handover)}\n`);
    writeInstance(running.instance); // From now on others find it.
    io.err(
      `Fairlead is ready at ${running.instance.server} (started in ${formatDuration(performance.now() - startedAtMs)}).\n`,
    );
    if (!once) io.err(`Open ${(await pageLink(api)).url} to watch it (the link signs in once, within 10 minutes).\n`);
    await running.complete();
    const { failure } = await welcome(api, handover === undefined ? settings : { ...settings, demo: undefined }, io, {
      serves: once ? 'no more' : 'here',
    });
    if (failure !== undefined && once) throw failure;
    if (failure !== undefined) io.err(failureText(failure, io.colors));
    if (!once) await untilAborted(first);
    first.throwIfAborted();
  } finally {
    await stop(running, io, { fast: second, withHosts: once });
  }
};

const handoverNotice = (handover: HandoverRecord): string =>
  holdsLog(handover)
    ? `This installation has taken another one over (epoch ${handover.epoch}).`
    : `This installation is read-only: ${handoverWords(handover)}.`;

/** The client of an instance that has just been started. */
export const apiOf = (instance: Instance, io: Io): Api =>
  apiAt({
    server: instance.server,
    token: readFileSync(instance.tokenFile, 'utf8').trim(),
    instance,
    interrupted: io.interrupts.first,
    fetch: fetchTrusting(readAuthority('/', instance.caFile)),
    outage: new Outage(io, () => true), // A gateway that ends is started again.
  });

const watcherOf = (settings: UpSettings, io: Io): Watcher => {
  const states = new StateLines((name) => logFileOf(settings.dataDir, name));
  return {
    onStep: (title, durationMs) =>
      io.err(`${io.colors.green('✔')} ${title}  ${io.colors.dim(formatDuration(durationMs))}\n`),
    onNotice: (sentence) => io.err(`${sentence}\n`),
    onState: (name, state) => {
      const line = states.lineOf(name, state);
      if (line !== undefined) io.err(`${line}\n`);
    },
  };
};

const untilAborted = async (signal: AbortSignal): Promise<void> => {
  // A promise and a signal keep no process alive; the children's pipes might, this timer does.
  const keepAlive = setInterval(() => undefined, KEEP_ALIVE_MS);
  try {
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  } finally {
    clearInterval(keepAlive);
  }
};

const KEEP_ALIVE_MS = 60_000;

const stop = async (
  running: RunningInstance,
  io: Io,
  { fast, withHosts }: { readonly fast: AbortSignal; readonly withHosts: boolean },
): Promise<void> => {
  io.err('\nStopping ...\n');
  const startedAtMs = performance.now();
  try {
    const goesOn = await running.stop(fast, withHosts);
    io.err(
      `Stopped after ${formatDuration(performance.now() - startedAtMs)}; ${goesOn ?? 'nothing is left running'}.\n`,
    );
  } catch (error) {
    throw new CliFailure('failed', {
      code: 'cli.stop-failed',
      message: `Not everything could be stopped: ${wordsOf(error)}`,
      cause: error,
    });
  }
};
