import { parentPort, workerData } from 'node:worker_threads';
import { parseJson } from './json.js';
import { ParseFailure } from './parse.failure.js';
import { select } from './select.js';
import type { LargeText, WorkerAnswer } from './worker.js';
import { parseYaml } from './yaml.js';

/** The worker thread of `parseInWorker`: one text, one result. */

const answerTo = ({ format, bytes, limits, selection, resultLengthMax }: LargeText): WorkerAnswer => {
  try {
    const text = new TextDecoder().decode(bytes);
    const value = format === 'json' ? parseJson(text, limits) : parseYaml(text, limits);
    const part = select(value, selection);
    const json = part === undefined ? '' : JSON.stringify(part);
    if (json.length > resultLengthMax)
      throw new ParseFailure('too-long', `the part of it that is read has more than ${resultLengthMax} characters`);
    return { json };
  } catch (error) {
    if (!(error instanceof ParseFailure)) throw error;
    return { reason: error.reason, message: error.message };
  }
};

parentPort?.postMessage(answerTo(workerData as LargeText));
