import { setTimeout as sleep } from 'node:timers/promises';
import type { Api, ClusterAt } from '../api/api.ports.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { deadlineAfter } from '../time/deadline.js';
import { linesOfTree } from './tree.text.js';
import type { Branch } from './tree.js';

/** What is watched: a view that the server makes. Events only say when to ask for it again. */
export interface Watched<View> {
  readonly at: ClusterAt;
  /** The first view shows at least what the log held at this sequence. */
  readonly from: number;
  /** Events after this sequence can change the view. */
  since(first: View): number;
  /** The view with at least what the log held at the sequence. */
  read(minSeq: number): Promise<View>;
  /** There is nothing more to wait for. */
  until(view: View): boolean;
  /** What changed, for a log; before: undefined for the first view. */
  lines(before: View | undefined, after: View): readonly string[];
  /** The view as it was made `agoMs` ago. */
  tree(view: View, time: { readonly nowMs: number; readonly agoMs: number }): Branch;
}

export interface WatchOptions {
  /** undefined: no limit. */
  readonly timeoutMs?: number | undefined;
  /** Nothing is shown: the answer alone matters. */
  readonly quiet?: boolean | undefined;
}

/** How the watching ended: with the end that was waited for, or before it. */
export interface WatchEnd<View> {
  readonly view: View;
  /** Of the latest event that the view shows. */
  readonly seq: number;
  readonly end: 'reached' | 'interrupted' | 'timed-out';
}

/** The server is asked for the view at most so often, however many events there are. */
const PACE_MS = 200;
const FRAME_MS = 100;
const COLUMNS_MIN = 20;

interface Screen<View> {
  show(view: View): void;
  /** Leaves the last state on the terminal and writes nothing any more. */
  close(): void;
}

/** A line per change, where nothing can be redrawn. */
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

/** A tree that is redrawn in place. */
const treeScreen = <View>(io: Io, watched: Watched<View>): Screen<View> => {
  const region = io.openRegion();
  let latest: { readonly view: View; readonly atMs: number } | undefined;
  const draw = (): void => {
    if (latest === undefined) return;
    const nowMs = io.now();
    const tree = watched.tree(latest.view, { nowMs, agoMs: nowMs - latest.atMs });
    const lines = linesOfTree(tree, { columns: Math.max(COLUMNS_MIN, io.columns()), colors: io.colors });
    // A region that is higher than the terminal could not be redrawn.
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

/** Knows the newest event only: a slow reader skips those between. */
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

  /** Until there is an event after the sequence, or the end. */
  past(seq: number): Promise<void> {
    if (this.seq > seq || this.ended.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      this.wake = resolve;
    });
  }
}

/**
 * Shows a view until `until` holds, and answers with the last one. At Ctrl-C and when the time is over it ends, too, and the server goes
 * on with what was watched.
 */
export const watch = async <View>(
  api: Api,
  io: Io,
  watched: Watched<View>,
  { timeoutMs, quiet = false }: WatchOptions,
): Promise<WatchEnd<View>> => {
  const enough = new AbortController();
  const late = deadlineAfter(timeoutMs);
  const interrupted = AbortSignal.any([io.interrupts.first, late.signal]);
  const ended = AbortSignal.any([interrupted, enough.signal]);
  let view = await watched.read(watched.from);
  let seq = watched.since(view);
  const screen = quiet ? SILENT : io.isLive ? treeScreen(io, watched) : lineScreen(io, watched);
  const newest = new Newest(ended);
  const reading = read(api, watched.at, { since: seq, newest, ended });
  try {
    screen.show(view);
    while (!watched.until(view) && !interrupted.aborted) {
      await Promise.race([newest.past(seq), reading]);
      if (interrupted.aborted) break;
      seq = newest.seq;
      view = await readOnceShown(watched, seq, ended);
      screen.show(view);
      await sleep(PACE_MS, undefined, { signal: ended }).catch(() => undefined);
    }
  } catch (error) {
    if (!interrupted.aborted) throw error;
  } finally {
    late.clear();
    enough.abort();
    screen.close();
    await reading;
  }
  const end = watched.until(view) ? 'reached' : io.interrupts.first.aborted ? 'interrupted' : 'timed-out';
  return { view, seq, end };
};

/** The tables of a busy server may be late: the event is in the log, so they will show it. */
const readOnceShown = async <View>(watched: Watched<View>, seq: number, ended: AbortSignal): Promise<View> => {
  for (;;) {
    try {
      return await watched.read(seq);
    } catch (error) {
      if (!(error instanceof CliFailure) || error.code !== 'wait.too-long' || ended.aborted) throw error;
    }
  }
};

/** Ends when it is aborted; a stream that fails for good rejects, and so ends the watching. */
const read = async (
  api: Api,
  at: ClusterAt,
  { since, newest, ended }: { readonly since: number; readonly newest: Newest; readonly ended: AbortSignal },
): Promise<void> => {
  try {
    for await (const event of api.followEvents(at, { since }, ended)) newest.add(event.seq);
  } catch (error) {
    if (!ended.aborted) throw error;
  }
};
