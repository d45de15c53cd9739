import type { ReplicaState } from '@fairlead/embedded';
import { formatDuration } from '../output/duration.js';

/**
 * What is reported of the programs of an instance while it serves: that one crashed, why, how often and when it is retried; that it waits
 * for another; and that it serves again. What is said already is not said twice in a row.
 */
export class StateLines {
  private readonly last = new Map<string, string>();

  constructor(private readonly logFileOf: (program: string) => string) {}

  /** undefined: nothing new. */
  lineOf(name: string, state: ReplicaState): string | undefined {
    switch (state.status) {
      case 'starting':
        return state.waitsFor === undefined ? undefined : this.unlessSaid(name, `${name} waits for ${state.waitsFor}`);
      case 'waiting':
        return this.unlessSaid(name, this.endLine(name, state));
      case 'running':
        return this.last.delete(name) ? `${name} serves again` : undefined;
      case 'failed':
      case 'held':
      case 'stopped':
        return undefined;
    }
  }

  private endLine(name: string, { crashes, delayMs, reason }: Extract<ReplicaState, { status: 'waiting' }>): string {
    const why = firstSentence(reason);
    if (crashes === 0) return `${name} exited and is restarted: ${why}`;
    const often = crashes === 1 ? 'crashed' : `crashed ${crashes} times in a row`;
    return `${name} ${often} and is restarted in ${formatDuration(delayMs)}: ${why} (see ${this.logFileOf(name)})`;
  }

  private unlessSaid(name: string, line: string): string | undefined {
    if (this.last.get(name) === line) return undefined;
    this.last.set(name, line);
    return line;
  }
}

const LENGTH_MAX = 300;
const KILLED = /ended by SIG/;
const TELLS = /error|cannot|refuse|fail/i;

/** How it ended, and the last line that says why; a process that was killed had no time to write one. */
const firstSentence = (reason: string): string => {
  const [how = '', quoted = ''] = reason.split(' Its last words:\n');
  const words = quoted.split('\n').map((line) => plainWords(line.trim()));
  const last = words.findLast((line) => TELLS.test(line)) ?? words.at(-1) ?? '';
  return (last === '' || KILLED.test(how) ? how : `${how} "${last}"`).slice(0, LENGTH_MAX);
};

/** Services log in JSON. */
const plainWords = (line: string): string => {
  try {
    const { message } = JSON.parse(line) as { readonly message?: unknown };
    return typeof message === 'string' ? message : line;
  } catch {
    return line;
  }
};
