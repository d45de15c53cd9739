import type { Watch } from './pieces.js';

const REDRAW_MS = 200;

/** Prints progress: one line that is updated on a terminal, otherwise a line at the start and the end of each step. */
export const terminalWatch = (output: NodeJS.WriteStream): Watch => ({
  begin: (title) => (output.isTTY ? liveStep(title, output) : plainStep(title, output)),
});

const plainStep = (title: string, output: NodeJS.WriteStream) => {
  const begunAt = Date.now();
  output.write(`${title} ...\n`);
  return {
    note: () => undefined,
    end: () => void output.write(`${title}: done in ${duration(Date.now() - begunAt)}\n`),
  };
};

/** Steps can be nested: the innermost open step is displayed. */
const open: { title: string; text: string; begunAt: number }[] = [];

const liveStep = (title: string, output: NodeJS.WriteStream) => {
  const step = { title, text: '', begunAt: Date.now() };
  const draw = () => {
    if (open.at(-1) !== step) return;
    const line = `${title} · ${duration(Date.now() - step.begunAt)}${step.text === '' ? '' : ` · ${step.text}`}`;
    output.write(`\r\u001b[2K${line.slice(0, Math.max(20, output.columns - 1))}`);
  };
  open.push(step);
  const timer = setInterval(draw, REDRAW_MS);
  timer.unref();
  return {
    note: (text: string) => {
      step.text = text;
    },
    end: () => {
      clearInterval(timer);
      open.splice(open.indexOf(step), 1);
      output.write(`\r\u001b[2K${title}: done in ${duration(Date.now() - step.begunAt)}\n`);
    },
  };
};

export const duration = (milliseconds: number): string => {
  const seconds = Math.round(milliseconds / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
};
