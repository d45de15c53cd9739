import type { ExitClass } from './exit-codes.js';
import { ownWordsOf } from './foreign.words.js';

/** A single fault. */
export interface Fault {
  readonly code: string;
  readonly message: string;
  readonly help?: string | undefined;
  readonly field?: string | undefined;
  /** The option of the command that sets the field. */
  readonly option?: string | undefined;
}

interface CliFailureDetails {
  /** Stable: the code of a refusal in the catalogue, or one of the CLI's own (`cli.…`). */
  readonly code: string;
  /** A single sentence. */
  readonly message: string;
  /** What the caller can do about it. */
  readonly help?: string | undefined;
  /** The path of the fault in the request. */
  readonly field?: string | undefined;
  /** Other faults of the same request. */
  readonly further?: readonly Fault[];
  readonly cause?: unknown;
}

/** The command failed. Printed as a sentence; its class determines the exit code. */
export class CliFailure extends Error {
  readonly code: string;
  readonly help: string | undefined;
  readonly field: string | undefined;
  readonly further: readonly Fault[];

  constructor(
    readonly exit: ExitClass,
    { code, message, help, field, further = [], cause }: CliFailureDetails,
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CliFailure';
    this.code = code;
    this.help = help;
    this.field = field;
    this.further = further;
  }
}

/** The command succeeded and has printed its answer; the exit code is part of the answer. */
export class AnsweredExit extends Error {
  /** A number is the exit code of a remote program. */
  constructor(readonly exit: ExitClass | number) {
    super(`the answer has the exit code of ${exit}`);
    this.name = 'AnsweredExit';
  }
}

/** What is followed without an end was stopped: nothing is left to say. */
export const stoppedFollowing = (): AnsweredExit => new AnsweredExit('interrupted');

export const usageFailure = (message: string, help?: string): CliFailure =>
  new CliFailure('usage', { code: 'cli.usage', message, help });

/** The message of any thrown value, with those of its causes: `fetch failed` alone explains nothing. */
export const wordsOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return String(thrown);
  if (thrown instanceof AggregateError) return thrown.errors.map(wordsOf).join('; ') || thrown.message;
  const own = ownWordsOf(thrown);
  if (own !== undefined) return own;
  if (!(thrown.cause instanceof Error)) return thrown.message;
  // The message of every fetch failure.
  return thrown.message === 'fetch failed' ? wordsOf(thrown.cause) : `${thrown.message}: ${wordsOf(thrown.cause)}`;
};
