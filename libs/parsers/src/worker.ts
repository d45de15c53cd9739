import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { parseJson } from './json.js';
import { DEPTH_MAX, type ParseLimits } from './limits.js';
import { ParseFailure, type ParseFailureReason } from './parse.failure.js';
import type { Selection } from './select.js';

/** A text that is too large for the main thread. */
export interface LargeText {
  readonly format: 'json' | 'yaml';
  /** UTF-8. */
  readonly bytes: Uint8Array;
  readonly limits: ParseLimits;
  /** Only this part is returned. */
  readonly selection: Selection;
  /** Maximum length of that part as JSON. */
  readonly resultLengthMax: number;
}

export interface WorkerLimits {
  readonly deadlineMs: number;
  /** MiB of memory for values, without the text itself. */
  readonly memoryMb: number;
  readonly signal: AbortSignal;
}

/** A worker's result: the selected part as JSON, or why the text is rejected. */
export type WorkerAnswer =
  { readonly json: string } | { readonly reason: ParseFailureReason; readonly message: string };

const FILE = 'parse.worker.js';

/** Beside this file once it is built or bundled; specs run the sources. */
const workerFile = (): URL => {
  const beside = new URL(FILE, import.meta.url);
  return existsSync(fileURLToPath(beside)) ? beside : new URL(`../dist/${FILE}`, import.meta.url);
};

const YOUNG_GENERATION_MB = 16;
const MILLISECONDS = 1_000;

const failureOf = (error: Error & { readonly code?: string }, { memoryMb }: WorkerLimits): Error =>
  error.code === 'ERR_WORKER_OUT_OF_MEMORY'
    ? new ParseFailure('too-much-memory', `it takes more than ${memoryMb} MiB of memory`)
    : error;

const valueOf = (answer: WorkerAnswer, resultLengthMax: number): unknown => {
  if ('reason' in answer) throw new ParseFailure(answer.reason, answer.message);
  const limits = { lengthMax: resultLengthMax, depthMax: DEPTH_MAX, valuesMax: resultLengthMax };
  return answer.json === '' ? undefined : parseJson(answer.json, limits);
};

/** Whichever comes first: a result, an error, the deadline, or the abort of the signal. */
const answerOf = (worker: Worker, limits: WorkerLimits, ended: AbortSignal): Promise<WorkerAnswer> => {
  const { deadlineMs, signal } = limits;
  return new Promise<WorkerAnswer>((resolve, reject) => {
    const tooSlow = new ParseFailure('too-slow', `it takes longer than ${deadlineMs / MILLISECONDS} s`);
    const timer = setTimeout(() => reject(tooSlow), deadlineMs);
    ended.addEventListener('abort', () => clearTimeout(timer));
    signal.addEventListener('abort', () => reject(signal.reason as Error), { signal: ended });
    worker.once('message', resolve);
    worker.once('error', (error) => reject(failureOf(error, limits)));
    worker.once('exit', (code) => reject(new Error(`the parser has ended with ${code}`)));
  });
};

/**
 * Parses a text in a worker thread, which is terminated at the deadline or if it needs too much memory.
 * @returns the selected part; undefined: the text lacks it
 * @throws ParseFailure, or the reason of the signal
 */
export const parseInWorker = async (text: LargeText, limits: WorkerLimits): Promise<unknown> => {
  limits.signal.throwIfAborted();
  const worker = new Worker(workerFile(), {
    workerData: text,
    resourceLimits: { maxOldGenerationSizeMb: limits.memoryMb, maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
  });
  const ended = new AbortController();
  try {
    return valueOf(await answerOf(worker, limits, ended.signal), text.resultLengthMax);
  } finally {
    ended.abort();
    await worker.terminate();
  }
};
