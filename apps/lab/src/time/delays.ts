import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Durations of simulated work with `--delays real`, in milliseconds. Scaled down from real hosts (seconds for minutes),
 * so that a cluster of 3 + 2 is Ready in 10 to 20 seconds and still shows every step.
 */
const DELAY_MS = {
  boot: 1_600,
  shutdown: 300,
  packageIndex: 350,
  packageInstall: 450,
  serviceStart: 120,
  preflight: 150,
  certificates: 350,
  controlPlaneStart: 1_400,
  initAddons: 250,
  discovery: 150,
  kubeletStart: 500,
  etcdJoin: 600,
  reset: 300,
  token: 120,
  upgrade: 1_500,
} as const;

export type DelayKind = keyof typeof DELAY_MS;

/** Durations vary, because no two hosts are equally fast. */
const JITTER_SHARE = 0.2;

/** `drawn` is at least 0 and less than 1. */
export const delayMs = (kind: DelayKind, drawn: number): number =>
  DELAY_MS[kind] * (1 + JITTER_SHARE * (2 * drawn - 1));

/** Waits for the duration of simulated work. Rejects when the signal aborts. */
export type Delays = (kind: DelayKind, signal?: AbortSignal) => Promise<void>;

export const REAL_DELAYS: Delays = async (kind, signal) => {
  await sleep(delayMs(kind, Math.random()), undefined, signal === undefined ? {} : { signal });
};

/** Simulated work takes no time, for load tests. An aborted signal still rejects. */
export const NO_DELAYS: Delays = async (_kind, signal) => signal?.throwIfAborted();
