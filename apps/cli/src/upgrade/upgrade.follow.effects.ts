import { setTimeout as sleep } from 'node:timers/promises';
import type { Api, ClusterAt, UpgradeView } from '../api/api.ports.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { formatDuration } from '../output/duration.js';
import { linesOfTree } from '../progress/tree.text.js';
import { deadlineAfter } from '../time/deadline.js';
import { linesBetweenUpgrades } from './upgrade.lines.js';
import { upgradeTree } from './upgrade.tree.js';

export interface FollowUpgradeOptions {
  /** undefined: no limit. */
  readonly timeoutMs?: number | undefined;
  /** When there is nothing more to wait for. */
  readonly until: (upgrade: UpgradeView) => boolean;
  /** Nothing is shown: the answer alone matters. */
  readonly quiet?: boolean;
}

/** The upgrade goes on no further by itself. */
export const isOver = ({ phase }: UpgradeView): boolean =>
  ['Rejected', 'Halted', 'Aborted', 'Completed'].includes(phase);

/** There is a plan, or there will be none. */
export const hasPlan = ({ phase }: UpgradeView): boolean => phase !== 'Planning';

/** The server is asked for the upgrade at most so often, however many events there are. */
const PACE_MS = 200;
const FRAME_MS = 100;
const COLUMNS_MIN = 20;

interface View {
  show(upgrade: UpgradeView): void;
  close(): void;
}

const SILENT: View = { show: () => undefined, close: () => undefined };

const lineView = (io: Io): View => {
  let shown: UpgradeView | undefined;
  return {
    show: (upgrade) => {
      for (const line of linesBetweenUpgrades(shown, upgrade)) io.err(`${line}\n`);
      shown = upgrade;
    },
    close: () => undefined,
  };
};

const treeView = (io: Io): View => {
  const region = io.openRegion();
  let latest: { readonly upgrade: UpgradeView; readonly atMs: number } | undefined;
  const draw = (): void => {
    if (latest === undefined) return;
    const tree = upgradeTree(latest.upgrade, { agoMs: io.now() - latest.atMs, all: false });
    const lines = linesOfTree(tree, { columns: Math.max(COLUMNS_MIN, io.columns()), colors: io.colors });
    // A region that is higher than the terminal could not be drawn anew.
    region.draw(lines.slice(0, Math.max(1, io.rows() - 1)));
  };
  const frames = setInterval(draw, FRAME_MS);
  return {
    show: (upgrade) => {
      latest = { upgrade, atMs: io.now() };
    },
    close: () => {
      clearInterval(frames);
      draw();
      region.close();
    },
  };
};

/** Tells of the newest event only: who is slow misses those between, and needs them not. */
class Newest {
  seq = 0;
  private wake: () => void = () => undefined;

  constructor(private readonly ended: AbortSignal) {
    ended.addEventListener('abort', () => this.wake(), { once: true });
  }

  tell(seq: number): void {
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
 * Shows an upgrade until `until` holds, and answers with it. The server makes the view; events only say when to ask again. Throws a
 * `CliFailure` when the time is over or at Ctrl-C: the roll-out goes on at the server.
 */
export const followUpgrade = async (
  api: Api,
  io: Io,
  of: { readonly at: ClusterAt; readonly id: string },
  options: FollowUpgradeOptions,
): Promise<UpgradeView> => {
  const { timeoutMs, until, quiet = false } = options;
  let upgrade = await api.upgrade(of.at, of.id);
  const enough = new AbortController();
  const late = deadlineAfter(timeoutMs);
  const interrupted = AbortSignal.any([io.interrupts.first, late.signal]);
  const ended = AbortSignal.any([interrupted, enough.signal]);
  const view = quiet ? SILENT : io.isLive ? treeView(io) : lineView(io);
  const newest = new Newest(ended);
  const reading = read(api, of.at, { since: upgrade.lastSeq, newest, ended });
  try {
    view.show(upgrade);
    let shownSeq = upgrade.lastSeq;
    while (!until(upgrade) && !interrupted.aborted) {
      await Promise.race([newest.past(shownSeq), reading]);
      if (interrupted.aborted) break;
      shownSeq = newest.seq;
      upgrade = await api.upgrade(of.at, of.id, shownSeq);
      view.show(upgrade);
      await sleep(PACE_MS, undefined, { signal: ended }).catch(() => undefined);
    }
  } catch (error) {
    if (!interrupted.aborted) throw error;
  } finally {
    late.clear();
    enough.abort();
    view.close();
    await reading;
  }
  if (until(upgrade)) return upgrade;
  throw stillGoing(upgrade, io.interrupts.first.aborted, timeoutMs);
};

/** Ends when it is told to; a stream that fails for good rejects, and so ends the watching. */
const read = async (
  api: Api,
  at: ClusterAt,
  { since, newest, ended }: { readonly since: number; readonly newest: Newest; readonly ended: AbortSignal },
): Promise<void> => {
  try {
    for await (const event of api.followEvents(at, since, ended)) newest.tell(event.seq);
  } catch (error) {
    if (!ended.aborted) throw error;
  }
};

const stillGoing = (upgrade: UpgradeView, isInterrupted: boolean, timeoutMs = 0): CliFailure => {
  const what = `the upgrade ${upgrade.id} of ${upgrade.cluster} goes on at the server`;
  const exit = isInterrupted ? 'interrupted' : 'timed-out';
  return new CliFailure(exit, {
    code: `cli.${exit}`,
    message: isInterrupted ? `Stopped watching: ${what}` : `Not done within ${formatDuration(timeoutMs)}: ${what}`,
    help: `Look again with "fairlead upgrade status ${upgrade.cluster} --follow"; stop it with "fairlead upgrade pause ${upgrade.cluster}".`,
  });
};
