import { mirrorLocation, WorldFailure, wordsOf } from '@fairlead/contracts';
import { createHash, type Hash } from 'node:crypto';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HostFiles, SourceFiles } from '../../files/files.ports.js';

const REDIRECTS_MAX = 5;
const TRIES_MAX = 4;
const RETRY_FIRST_MS = 500;
/** A server that says nothing for so long is gone. */
const SILENCE_MS = 30_000;
const TEXT_BYTES_MAX = 16 * 1024 * 1024;
const OK = 200;
const PARTIAL = 206;
const NOT_FOUND = 404;

/** What no second try changes. */
class Final extends Error {}

const ask = (url: URL, from: number): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const headers = from > 0 ? { range: `bytes=${from}-` } : {};
    const request = send(url, { headers, timeout: SILENCE_MS }, resolve);
    request.on('timeout', () => request.destroy(new Error(`no answer for ${SILENCE_MS / 1000} s`)));
    request.on('error', reject);
    request.end();
  });

const follow = async (address: string, from: number): Promise<IncomingMessage> => {
  let url = new URL(address);
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const response = await ask(url, from);
    const { statusCode = 0 } = response;
    const { location } = response.headers;
    if (statusCode < 300 || statusCode >= 400 || location === undefined) return response;
    response.resume();
    const next = new URL(location, url);
    if (url.protocol === 'https:' && next.protocol !== 'https:') throw new Final(`it leads to ${next.protocol}`);
    url = next;
  }
  throw new Final(`more than ${REDIRECTS_MAX} redirects`);
};

const retried = async <T>(address: string, work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const message = wordsOf(error);
      if (error instanceof Final || attempt === TRIES_MAX)
        throw new WorldFailure({ operation: 'download', target: address, message, cause: error });
      await sleep(RETRY_FIRST_MS * 2 ** (attempt - 1));
    }
  }
};

const unexpected = (response: IncomingMessage): Error => {
  const { statusCode = 0 } = response;
  response.resume();
  const message = `the server answers ${statusCode}`;
  // Not there, not allowed: said once. Too busy, broken: asked again.
  return statusCode >= 400 && statusCode < 500 && statusCode !== 429 ? new Final(message) : new Error(message);
};

const textOf = async (address: string): Promise<string | undefined> => {
  const response = await follow(address, 0);
  if (response.statusCode === NOT_FOUND) {
    response.resume();
    return undefined;
  }
  if (response.statusCode !== OK) throw unexpected(response);
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > TEXT_BYTES_MAX) throw new Final(`it is larger than ${TEXT_BYTES_MAX} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

/** How much of the file is there; a broken connection goes on from here. */
interface Progress {
  bytes: number;
  hash: Hash;
}

const receive = async (address: string, file: FileHandle, done: Progress): Promise<void> => {
  const response = await follow(address, done.bytes);
  if (response.statusCode === OK && done.bytes > 0) {
    // A server without support for ranges begins again, and so does the copy.
    done.bytes = 0;
    done.hash = createHash('sha256');
    await file.truncate(0);
  } else if (response.statusCode !== OK && response.statusCode !== PARTIAL) throw unexpected(response);
  const expected = Number(response.headers['content-length'] ?? Number.NaN) + done.bytes;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    await file.write(chunk, 0, chunk.length, done.bytes);
    done.hash.update(chunk);
    done.bytes += chunk.length;
  }
  if (!Number.isNaN(expected) && done.bytes !== expected)
    throw new Error(`the connection ended after ${done.bytes} of ${expected} bytes`);
};

/** A web server with the files of a mirror, or the official site itself. */
export const urlSource = (location: string, files: HostFiles): SourceFiles => {
  const address = (path: string): string => mirrorLocation(location, path);
  return {
    address,
    text: (path) => retried(address(path), () => textOf(address(path))),
    get: async (path, to, mode) => {
      await mkdir(dirname(files.at(to)), { recursive: true });
      const file = await open(files.at(to), 'w', mode);
      try {
        await file.chmod(mode);
        const done: Progress = { bytes: 0, hash: createHash('sha256') };
        await retried(address(path), () => receive(address(path), file, done));
        await file.sync();
        return done.hash.digest('hex');
      } finally {
        await file.close();
      }
    },
    inPlace: () => undefined,
  };
};
