import { setTimeout as sleep } from 'node:timers/promises';
import type { ReplicaState, Supervisor } from '@fairlead/embedded';
import { wordsOf } from '../failures.js';

const STREAMS_QUIET_TRIES = 3;
const STREAMS_RETRY_MS = 250;
const STREAMS_RETRY_MAX_MS = 5_000;
const JUST_BACK_MS = 10_000;
const CRASHES_UNTIL_LEFT = 4;

/** After an outage NATS may fail once more; without the stream of heartbeats every agent is silent, so it is tried until it is done. */
export const streamsAgain = async (
  streams: () => Promise<void>,
  say: (sentence: string) => void,
  ended: AbortSignal,
): Promise<void> => {
  for (let tries = 0; !ended.aborted; tries += 1) {
    try {
      return await streams();
    } catch (error) {
      if (tries === STREAMS_QUIET_TRIES) say(`Streams: ${wordsOf(error)}; trying again`);
    }
    const delayMs = Math.min(STREAMS_RETRY_MS * 2 ** Math.min(tries, 10), STREAMS_RETRY_MAX_MS);
    await sleep(delayMs, undefined, { signal: ended }).catch(() => undefined);
  }
};

/** Why a program that ends just now is not to blame: a server that it needs is down, or has just come back. */
export const downOf = (servers: Pick<Supervisor, 'status'>): string | undefined => {
  for (const { name, state, restarts } of servers.status()) {
    if (state.status !== 'running') return `${name} is down.`;
    if (restarts > 0 && Date.now() - state.sinceMs < JUST_BACK_MS) return `${name} was just restarted.`;
  }
  return undefined;
};

interface Listener {
  readonly onState: (name: string, state: ReplicaState) => void;
  readonly onNotice: (sentence: string) => void;
}

/**
 * Services serve without each other, so a start does not wait for one that crashes again and again: that is reported, and retried.
 * The gateway is waited for, because without it there is nothing to be reached.
 */
export class SlowStarts {
  private readonly waiting = new Map<string, () => void>();

  constructor(private readonly listener: Listener) {}

  readonly hear = (name: string, state: ReplicaState): void => {
    this.listener.onState(name, state);
    if (state.status === 'waiting' && state.crashes >= CRASHES_UNTIL_LEFT) this.waiting.get(name)?.();
  };

  /** Resolves when it is ready, or when it has crashed so often that the others are not to wait for it. */
  async unlessSlow(name: string, started: Promise<void>): Promise<void> {
    const left = new Promise<'left'>((resolve) => this.waiting.set(name, () => resolve('left')));
    try {
      if ((await Promise.race([started, left])) !== 'left') return;
      started.catch(() => undefined); // It is stopped with the rest.
      this.listener.onNotice(`${name} does not start yet. It is retried; the other services are running.`);
    } finally {
      this.waiting.delete(name);
    }
  }
}
