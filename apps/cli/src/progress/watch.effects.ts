import { setTimeout as sleep } from 'node:timers/promises';
import { followEvents } from '../api/streams.js';
import type { Api } from '../api/api.js';
import type { ClusterAt } from '../api/views.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { deadlineAfter } from '../time/deadline.js';
import type { TextOptions } from './tree.text.js';

/** A view from the server. Events only trigger reading it again. */
export interface Watched<View> {
  readonly at: ClusterAt;
  /** The first view includes at least this sequence of the log. */
  readonly from: number;
  /** The sequence after which events can change the view. */
  since(first: View): number;
  /** Reads the view, which includes at least this sequence of the log. */
  read(minSeq: number): Promise<View>;
  /** Whether the goal is reached. */
  until(view: View): boolean;
  /** The changes as lines of a log; `before` is undefined for the first view. */
  lines(before: View | undefined, after: View): readonly string[];
  /** The view for a terminal; it was read `agoMs` ago. */
  frame(view: View, options: FrameOptions): readonly string[];
}

export interface FrameOptions extends TextOptions {
  readonly nowMs: number;
  readonly agoMs: number;
}

export interface WatchOptions {
  /** undefined: no timeout. */
  readonly timeoutMs?: number | undefined;
  /** Displays nothing: only the result is used. */
  readonly quiet?: boolean | undefined;
  /** Reads the view again after this time without an event; undefined: only events change it. */
  readonly againMs?: number | undefined;
}

/** How watching ended: at the goal, or before it, possibly without any view. */
export type WatchEnd<View> =
  | {
      readonly end: 'reached';
      readonly view: View;
      /** The sequence of the latest event in the view. */
      readonly seq: number;
    }
  | { readonly end: 'interrupted' | 'timed-out' };

/** The minimum interval between reads of the view, however many events there are. */
const PACE_MS = 200;
const FRAME_MS = 100;
const COLUMNS_MIN = 20;

interface Screen<View> {
  show(view: View): void;
  /** Keeps the last state on the terminal, and writes nothing more. */
  close(): void;
}

/** A line per change, if nothing can be redrawn. */
const lineScreen = <View>(io: Io, watched: Watched<View>): Screen<View> => {
  let shown: View | undefined;
  return {
    show: (view) => {
      for (const line of watched.lines(shown, view)) io.err(`${line}\n`);
      shown = view;
    },
    close: () => undefined,
  };
};

/** Redraws in place. */
const frameScreen = <View>(io: Io, watched: Watched<View>): Screen<View> => {
  const region = io.openRegion();
  let latest: { readonly view: View; readonly atMs: number } | undefined;
  const draw = (): void => {
    if (latest === undefined) return;
    const nowMs = io.now();
    const lines = watched.frame(latest.view, {
      nowMs,
      agoMs: nowMs - latest.atMs,
      columns: Math.max(COLUMNS_MIN, io.errColumns()),
      colors: io.colors,
    });
    // A region that exceeds the terminal's height could not be redrawn.
    region.draw(lines.slice(0, Math.max(1, io.rows() - 1)));
  };
  const frames = setInterval(draw, FRAME_MS);
  return {
    show: (view) => {
      latest = { view, atMs: io.now() };
    },
    close: () => {
      clearInterval(frames);
      draw();
      region.close();
    },
  };
};

const SILENT: Screen<unknown> = { show: () => undefined, close: () => undefined };

/** Keeps only the newest event: a slow reader skips earlier ones. */
class Newest {
  seq = 0;
  private wake: () => void = () => undefined;

  constructor(private readonly ended: AbortSignal) {
    ended.addEventListener('abort', () => this.wake(), { once: true });
  }

  add(seq: number): void {
    this.seq = Math.max(this.seq, seq);
    this.wake();
  }

  /** Resolves when there is an event after the sequence, or at the end. */
  past(seq: number): Promise<void> {
    if (this.seq > seq || this.ended.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }
}

/** The result of the promise, or undefined if the signal aborts first. */
const unlessEnded = async <T>(promise: Promise<T>, ended: AbortSignal): Promise<T | undefined> => {
  promise.catch(() => undefined); // A failure after the end is ignored.
  if (ended.aborted) return undefined;
  let stop = (): void => undefined;
  const aborted = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined);
    ended.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } catch (error) {
    if (ended.aborted) return undefined;
    throw error;
  } finally {
    ended.removeEventListener('abort', stop);
  }
};

/**
 * Displays a view until `until` holds, and returns the last one. Also ends at Ctrl-C and at the timeout; the work on
 * the server continues.
 */
export const watch = async <View>(
  api: Api,
  io: Io,
  watched: Watched<View>,
  { timeoutMs, quiet = false, againMs }: WatchOptions,
): Promise<WatchEnd<View>> => {
  const late = deadlineAfter(timeoutMs);
  const stopped = AbortSignal.any([io.interrupts.first, late.signal]);
  try {
    const reached = await untilReached(api, io, watched, { stopped, quiet, againMs });
    return reached ?? { end: io.interrupts.first.aborted ? 'interrupted' : 'timed-out' };
  } finally {
    late.clear();
  }
};

interface Until {
  /** Aborted when the caller no longer waits. */
  readonly stopped: AbortSignal;
  readonly quiet: boolean;
  readonly againMs: number | undefined;
}

/** undefined: stopped before the goal. */
const untilReached = async <View>(
  api: Api,
  io: Io,
  watched: Watched<View>,
  { stopped, quiet, againMs }: Until,
): Promise<(WatchEnd<View> & { readonly end: 'reached' }) | undefined> => {
  const enough = new AbortController();
  const ended = AbortSignal.any([stopped, enough.signal]);
  const first = await unlessEnded(box(watched.read(watched.from)), stopped);
  if (first === undefined) return undefined;
  let view = first.value;
  let seq = watched.since(view);
  const screen = quiet ? SILENT : io.isLive ? frameScreen(io, watched) : lineScreen(io, watched);
  const newest = new Newest(ended);
  const reading = read(api, watched.at, { since: seq, newest, ended });
  try {
    screen.show(view);
    while (!watched.until(view)) {
      await untilChanged({ newest, seq, reading, againMs, ended });
      const after = Math.max(newest.seq, seq);
      const next = await unlessEnded(box(readOnceShown(watched, after, ended)), stopped);
      if (next === undefined) return undefined;
      [view, seq] = [next.value, after];
      screen.show(view);
      await pause(PACE_MS, ended);
    }
    return { end: 'reached', view, seq };
  } finally {
    enough.abort();
    screen.close();
    await reading.catch((error: unknown) => {
      if (!stopped.aborted) throw error;
    });
  }
};

interface Changing {
  readonly newest: Newest;
  readonly seq: number;
  readonly reading: Promise<void>;
  readonly againMs: number | undefined;
  readonly ended: AbortSignal;
}

/** Resolves when there is a newer event, or when the view must be read again. */
const untilChanged = async ({ newest, seq, reading, againMs, ended }: Changing): Promise<void> => {
  const over = new AbortController();
  const again = againMs === undefined ? [] : [pause(againMs, AbortSignal.any([ended, over.signal]))];
  try {
    await Promise.race([newest.past(seq), reading, ...again]);
  } finally {
    over.abort();
  }
};

const pause = (ms: number, ended: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal: ended }).catch(() => undefined);

/** Distinguishes a view that is undefined from no view. */
const box = async <T>(promise: Promise<T>): Promise<{ readonly value: T }> => ({ value: await promise });

/** The projections of a busy server may be late: the event is in the log, so the view will include it. */
const readOnceShown = async <View>(watched: Watched<View>, seq: number, ended: AbortSignal): Promise<View> => {
  for (;;) {
    try {
      return await watched.read(seq);
    } catch (error) {
      if (!(error instanceof CliFailure) || error.code !== 'wait.too-long' || ended.aborted) throw error;
    }
  }
};

/** Ends when it is aborted; a permanent failure of the stream rejects, and so ends watching. */
const read = async (
  api: Api,
  at: ClusterAt,
  { since, newest, ended }: { readonly since: number; readonly newest: Newest; readonly ended: AbortSignal },
): Promise<void> => {
  try {
    for await (const event of followEvents(api, at, { since }, ended)) newest.add(event.seq);
  } catch (error) {
    if (!ended.aborted) throw error;
  }
};
