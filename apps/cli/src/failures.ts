import type { ExitClass } from './exit-codes.js';
import { ownWordsOf } from './foreign.words.js';

/** One thing that is wrong. */
export interface Fault {
  readonly code: string;
  readonly message: string;
  readonly help?: string | undefined;
  readonly field?: string | undefined;
  /** The option of the command that sets the field. */
  readonly option?: string | undefined;
}

interface CliFailureDetails {
  /** Stable: a refusal's code of the catalogue, or one of the CLI's own (`cli.…`). */
  readonly code: string;
  /** One clear sentence. */
  readonly message: string;
  /** What the caller can do about it. */
  readonly help?: string | undefined;
  /** The path of what is wrong in the request. */
  readonly field?: string | undefined;
  /** What else is wrong with the same request. */
  readonly further?: readonly Fault[];
  readonly cause?: unknown;
}

/** The command cannot do what was asked. Shown as a sentence; its class is the exit code. */
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

/** The command ended as it should, and its answer was printed: the exit code is a part of it. */
export class AnsweredExit extends Error {
  /** A number is the exit code of a program that ran elsewhere. */
  constructor(readonly exit: ExitClass | number) {
    super(`the answer has the exit code of ${exit}`);
    this.name = 'AnsweredExit';
  }
}

export const usageFailure = (message: string, help?: string): CliFailure =>
  new CliFailure('usage', { code: 'cli.usage', message, help });

/** The words of whatever was thrown, with those of its causes: `fetch failed` alone explains nothing. */
export const wordsOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return String(thrown);
  if (thrown instanceof AggregateError) return thrown.errors.map(wordsOf).join('; ') || thrown.message;
  const own = ownWordsOf(thrown);
  if (own !== undefined) return own;
  if (!(thrown.cause instanceof Error)) return thrown.message;
  // What fetch says of every failure.
  return thrown.message === 'fetch failed' ? wordsOf(thrown.cause) : `${thrown.message}: ${wordsOf(thrown.cause)}`;
};
