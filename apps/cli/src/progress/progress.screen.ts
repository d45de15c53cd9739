import type { Io } from '../io/io.js';
import { linesBetween } from './progress.lines.js';
import { noProgress, type Progress } from './progress.js';
import { linesOfTree } from './tree.text.js';
import { treeOf } from './progress.tree.js';

const FRAME_MS = 100;
const COLUMNS_MIN = 20;

/** Shows progress as it happens. */
export interface ProgressView {
  /** What was known before there was anything to watch. */
  begin(progress: Progress): void;
  show(progress: Progress): void;
  /** Leaves the last state on the terminal and writes nothing any more. */
  close(): void;
}

/** A tree that is redrawn in place on a terminal, a line per change elsewhere. Both write to standard error. */
export const progressView = (io: Io): ProgressView => (io.isLive ? treeView(io) : lineView(io));

const lineView = (io: Io): ProgressView => {
  let shown: Progress | undefined;
  return {
    begin: (progress) => {
      shown = progress;
    },
    show: (progress) => {
      const before = shown ?? noProgress(progress.at);
      shown = progress;
      for (const line of linesBetween(before, progress)) io.err(`${line}\n`);
    },
    close: () => undefined,
  };
};

const treeView = (io: Io): ProgressView => {
  const region = io.openRegion();
  let latest: Progress | undefined;
  const draw = (): void => {
    if (latest === undefined) return;
    const tree = treeOf(latest, { nowMs: io.now(), all: false });
    const lines = linesOfTree(tree, { columns: Math.max(COLUMNS_MIN, io.columns()), colors: io.colors });
    // A region that is higher than the terminal could not be drawn anew.
    region.draw(lines.slice(0, Math.max(1, io.rows() - 1)));
  };
  const frames = setInterval(draw, FRAME_MS);
  const keep = (progress: Progress): void => {
    latest = progress;
  };
  return {
    begin: keep,
    show: keep,
    close: () => {
      clearInterval(frames);
      draw();
      region.close();
    },
  };
};
