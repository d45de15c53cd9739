import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCodeOf, isUrl, mirrorLocation, ExternalFailure } from '@fairlead/contracts';
import type { Bytes } from './bytes.js';

/** A mirror at a URL or in a folder. */
export interface MirrorSource {
  readonly location: string;
  /** A small file; undefined if it does not exist. Throws ExternalFailure if the mirror is unreachable. */
  readText(path: string): Promise<string | undefined>;
  /** A file's bytes from an offset on; the reader must verify them. */
  read(path: string, from?: number): Bytes;
}

export interface SourceOptions {
  readonly signal?: AbortSignal;
  /** Idle time of a server after which a request is aborted and retried. */
  readonly idleTimeoutMs?: number;
  /** Delay before the second attempt; doubled before each further one. */
  readonly retryDelayMs?: number;
}

const ATTEMPTS_MAX = 5;
const IDLE_TIMEOUT_MS = 30_000;
const RETRY_DELAY_MS = 500;
const TEXT_BYTES_MAX = 16 * 1024 * 1024;

export const openSource = (location: string, options: SourceOptions = {}): MirrorSource =>
  isUrl(location) ? new HttpSource(location, options) : new FolderSource(location, options);

class FolderSource implements MirrorSource {
  constructor(
    readonly location: string,
    private readonly options: SourceOptions,
  ) {}

  async readText(path: string): Promise<string | undefined> {
    try {
      return await readFile(mirrorLocation(this.location, path), { encoding: 'utf8', ...this.aborting() });
    } catch (error) {
      if (errorCodeOf(error) === 'ENOENT') return undefined;
      throw this.failed(path, error);
    }
  }

  async *read(path: string, from = 0): AsyncGenerator<Uint8Array, void> {
    try {
      yield* createReadStream(mirrorLocation(this.location, path), { start: from, ...this.aborting() });
    } catch (error) {
      throw this.failed(path, error);
    }
  }

  private aborting(): { signal?: AbortSignal } {
    return this.options.signal === undefined ? {} : { signal: this.options.signal };
  }

  private failed(path: string, error: unknown): unknown {
    if (this.options.signal?.aborted === true) return this.options.signal.reason;
    return failure(`read ${path}`, this.location, error);
  }
}

/** The server rejected the request permanently. */
class Answered extends Error {}

class HttpSource implements MirrorSource {
  constructor(
    readonly location: string,
    private readonly options: SourceOptions,
  ) {}

  async readText(path: string): Promise<string | undefined> {
    const parts: Uint8Array[] = [];
    let size = 0;
    try {
      for await (const part of this.read(path)) {
        parts.push(part);
        size += part.byteLength;
        if (size > TEXT_BYTES_MAX)
          throw failure(`read ${path}`, this.location, 'it is too large to be what it should be');
      }
    } catch (error) {
      if (error instanceof ExternalFailure && error.cause instanceof NotThere) return undefined;
      throw error;
    }
    return Buffer.concat(parts).toString('utf8');
  }

  /** Each attempt resumes where the previous one ended; one that made progress resets the count. */
  async *read(path: string, from = 0): AsyncGenerator<Uint8Array, void> {
    let at = from;
    for (let attempt = 1; ; attempt += 1) {
      const begunAt = at;
      try {
        for await (const chunk of this.request(path, at)) {
          at += chunk.byteLength;
          yield chunk;
        }
        return;
      } catch (error) {
        if (this.options.signal?.aborted === true) throw this.options.signal.reason;
        if (at > begunAt) attempt = 1;
        if (error instanceof Answered || attempt >= ATTEMPTS_MAX) throw failure(`fetch ${path}`, this.location, error);
        await this.pause(attempt);
      }
    }
  }

  private async pause(attempt: number): Promise<void> {
    const delayMs = (this.options.retryDelayMs ?? RETRY_DELAY_MS) * 2 ** (attempt - 1);
    const { signal } = this.options;
    await sleep(delayMs, undefined, signal === undefined ? {} : { signal });
  }

  private async *request(path: string, from: number): AsyncGenerator<Uint8Array, void> {
    const idle = new AbortController();
    const idleTimeoutMs = this.options.idleTimeoutMs ?? IDLE_TIMEOUT_MS;
    const timer = setTimeout(() => idle.abort(new Error(`no answer for ${idleTimeoutMs / 1000} s`)), idleTimeoutMs);
    const signals = this.options.signal === undefined ? [idle.signal] : [idle.signal, this.options.signal];
    try {
      const answer = await fetch(mirrorLocation(this.location, path), {
        signal: AbortSignal.any(signals),
        headers: from > 0 ? { range: `bytes=${from}-` } : {},
      });
      const body = bodyOf(answer, from);
      // A server without support for ranges sends everything again: the part that is already there is skipped.
      let skip = answer.status === 206 ? 0 : from;
      for await (const chunk of body) {
        timer.refresh();
        const fresh = chunk.subarray(Math.min(skip, chunk.byteLength));
        skip -= chunk.byteLength - fresh.byteLength;
        if (fresh.byteLength > 0) yield fresh;
      }
    } finally {
      clearTimeout(timer);
      idle.abort(); // A reader that stops early must not keep the connection.
    }
  }
}

class NotThere extends Answered {}

/** 5xx, 408 and 429 are transient; other errors are not. 416 means that nothing is left from that offset. */
const bodyOf = (answer: Response, from: number): Bytes => {
  if (answer.status === 416 && from > 0) return nothing();
  if (answer.ok && answer.body !== null) return answer.body;
  const words = `HTTP ${answer.status} ${answer.statusText}`.trim();
  if (answer.status === 404 || answer.status === 410) throw new NotThere(words);
  const passing = answer.status >= 500 || answer.status === 408 || answer.status === 429;
  throw passing ? new Error(words) : new Answered(words);
};

/** The rest of a file that is already complete. */
async function* nothing(): AsyncGenerator<Uint8Array, void> {}

const failure = (operation: string, target: string, error: unknown): ExternalFailure =>
  error instanceof ExternalFailure
    ? error
    : new ExternalFailure({
        operation,
        target,
        message: wordsOf(error),
        retryable: !(error instanceof Answered),
        cause: error,
      });

/** `fetch failed` alone is not helpful. */
const wordsOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return String(thrown);
  return thrown.cause instanceof Error ? `${thrown.message}: ${wordsOf(thrown.cause)}` : thrown.message;
};
