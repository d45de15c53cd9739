import { storedSubject, WorldFailure, type StoredEvent } from '@fairlead/contracts';
import type { NatsConnection } from '@nats-io/transport-node';
import { untilShared } from './shared.interval.js';
import { WakeSignal } from './wake.signal.js';
import { readBatch, READ_BATCH } from './direct.reader.js';
import { decode } from './envelope.codec.js';

/**
 * Follows the log: what matches the filter after a sequence, then what comes, until the signal aborts. A log that cannot be
 * reached for a while is retried; nothing is missed or delivered twice.
 */
export type Tail = (filter: string, afterSeq: number, signal: AbortSignal) => AsyncIterable<StoredEvent>;

const IDLE_POLL_MS = 2_000;
const LOOK_AGAIN_MS = [1, 2, 4, 8, 16, 32, 64] as const;

const RETRY_MS = 250;

/** Only an outage of the log is waited for; anything else is a bug. */
const outage = (error: unknown): undefined => {
  if (!(error instanceof WorldFailure)) throw error;
  return undefined;
};

/** Waits for a ring, unless there was one since the last time; true: it rang. */
const nextRing = async (wakeSignal: WakeSignal, ms: number): Promise<boolean> => {
  if (!wakeSignal.isSet) await wakeSignal.pause(ms);
  const { isSet } = wakeSignal;
  wakeSignal.reset();
  return isSet;
};

export const makeTail = (nc: NatsConnection): Tail =>
  async function* tail(filter, afterSeq, signal) {
    const wakeSignal = new WakeSignal();
    const subscription = nc.subscribe(storedSubject(filter), { callback: () => wakeSignal.ring() });
    const wake = (): void => wakeSignal.ring();
    signal.addEventListener('abort', wake, { once: true });
    let after = afterSeq;
    let looks = 0;
    try {
      while (!signal.aborted) {
        const batch = await readBatch(nc, filter, after, READ_BATCH).catch((error: unknown) => outage(error));
        if (batch === undefined) {
          await nextRing(wakeSignal, RETRY_MS);
          continue;
        }
        for (const { subject, seq, bytes } of batch) {
          after = seq;
          const event = decode(subject, seq, bytes);
          if (event !== undefined) yield event;
          if (signal.aborted) return;
        }
        if (batch.length > 0) looks = 0;
        if (batch.length === READ_BATCH) continue;
        // A wake-up can come a moment before its message can be read.
        const lookMs = LOOK_AGAIN_MS[LOOK_AGAIN_MS.length - looks] ?? untilShared(IDLE_POLL_MS);
        const rung = await nextRing(wakeSignal, lookMs);
        looks = rung ? LOOK_AGAIN_MS.length : Math.max(0, looks - 1);
      }
    } finally {
      signal.removeEventListener('abort', wake);
      subscription.unsubscribe();
    }
  };
