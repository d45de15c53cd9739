import { constants } from 'node:os';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const EXIT_CODE_BASE = 128; // A shell's word for "ended by signal n" is 128 + n.

/**
 * At the first SIGINT, SIGTERM or SIGHUP calls `stop` and then exits with 128 + n; at the second one exits at once, and the wardens
 * end what still runs. Returns a function that gives the signals back.
 */
export const stopOnSignals = (stop: (signal: NodeJS.Signals) => Promise<void>): (() => void) => {
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals): void => {
    const exit = (): never => process.exit(EXIT_CODE_BASE + constants.signals[signal]);
    if (stopping) exit();
    stopping = true;
    stop(signal).then(exit, (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      exit();
    });
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return () => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
};
