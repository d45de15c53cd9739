import { storedSubject, ExternalFailure, type StoredEvent } from '@fairlead/contracts';
import type { NatsConnection } from '@nats-io/transport-node';
import { sharedInterval, untilShared } from './shared.interval.js';
import { WakeSignal } from './wake.signal.js';
import { readBatch, READ_BATCH } from './direct.reader.js';
import { decode } from './envelope.codec.js';
import { headOf } from './message.head.js';

/**
 * Follows the log: matching events after a sequence, then new ones, until the signal aborts. Retries while the log is
 * unreachable; nothing is missed or delivered twice.
 */
export type Tail = (filter: string, afterSeq: number, signal: AbortSignal) => AsyncIterable<StoredEvent>;

/** Calls when the log may contain events that were not pushed; returns a function that stops it. */
export type OnUnpushed = (listener: () => void) => () => void;

const LOOK_MS = 5_000;
/** A wake-up can arrive before its message is readable. */
const LOOK_AGAIN_MS = [1, 2, 4, 8, 16, 32, 64] as const;
const RETRY_MS = 250;

/** For a connection whose service does not already poll the log. */
const everyLook: OnUnpushed = (listener) => sharedInterval(LOOK_MS, listener);

/** Only an outage of the log is retried; anything else is a bug. */
const outage = (error: unknown): undefined => {
  if (!(error instanceof ExternalFailure)) throw error;
  return undefined;
};

/** Waits for a wake-up, unless there was one since the last call; true: woken. */
const nextRing = async (wakeSignal: WakeSignal, ms?: number): Promise<boolean> => {
  if (!wakeSignal.isSet) await wakeSignal.pause(ms);
  const { isSet } = wakeSignal;
  wakeSignal.reset();
  return isSet;
};

/**
 * Delay until the next read, after this many reads since the last wake-up that found nothing; undefined: until the next
 * wake-up. The last delay is long enough for a lagging replica of the stream, and is repeated until everything that was
 * pushed has been read.
 */
const untilLook = (vain: number, isOwed: boolean): number | undefined =>
  LOOK_AGAIN_MS[vain] ?? (vain === LOOK_AGAIN_MS.length || isOwed ? untilShared(LOOK_MS) : undefined);

export const makeTail = (nc: NatsConnection, onUnpushed: OnUnpushed = everyLook): Tail =>
  async function* tail(filter, afterSeq, signal) {
    const wakeSignal = new WakeSignal();
    let pushed = 0;
    const subscription = nc.subscribe(storedSubject(filter), {
      callback: (error, message) => {
        if (error === null) pushed = Math.max(pushed, headOf(message).seq);
        wakeSignal.ring();
      },
    });
    const wake = (): void => wakeSignal.ring();
    const stopLooking = onUnpushed(wake);
    signal.addEventListener('abort', wake, { once: true });
    let after = afterSeq;
    let vain: number = LOOK_AGAIN_MS.length;
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
        if (batch.length === READ_BATCH) continue;
        const isOwed = after < pushed;
        if (batch.length > 0) vain = isOwed ? 0 : LOOK_AGAIN_MS.length;
        const rung = await nextRing(wakeSignal, untilLook(vain, isOwed));
        vain = rung ? 0 : vain + 1;
      }
    } finally {
      signal.removeEventListener('abort', wake);
      stopLooking();
      subscription.unsubscribe();
    }
  };
