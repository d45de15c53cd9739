import { mirrorLocation, ExternalFailure, wordsOf, type HostProxy } from '@fairlead/contracts';
import { createHash, type Hash } from 'node:crypto';
import { mkdir, open, type FileHandle } from 'node:fs/promises';
import { request as httpRequest, type ClientRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as tlsConnect } from 'node:tls';
import type { HostFiles, SourceFiles } from '../../files/files.ports.js';
import { proxyOf } from '../../software/host.proxy.js';

const REDIRECTS_MAX = 5;
const TRIES_MAX = 4;
const RETRY_FIRST_MS = 500;
/** A server that sends nothing for this long counts as gone. */
const SILENCE_MS = 30_000;
const TEXT_BYTES_MAX = 16 * 1024 * 1024;
const OK = 200;
const PARTIAL = 206;
const NOT_FOUND = 404;

/** A failure that a retry cannot fix. */
class Final extends Error {}

const CONNECT_MS = 10_000;
const UNREACHED_TRIES_MAX = 2;
/**
 * For this long, requests of further files fail at once, so that a caller that needs several files gets the error
 * within a minute.
 */
const UNREACHABLE_FOR_MS = 20_000;

/** How to connect to a server. */
export interface Way {
  readonly proxy?: HostProxy | undefined;
  /** Timeout for opening a connection, including the DNS lookup. */
  readonly connectMs?: number;
  readonly lookup?: LookupFunction;
}

/** The server cannot be reached. */
class Unreachable extends Error {}

const portOf = ({ protocol, port }: URL): string => port || (protocol === 'https:' ? '443' : '80');

const unreachable = (url: URL, through: URL | undefined, ms: number): Unreachable => {
  const at = through ?? url;
  const what = `${at.hostname}:${portOf(at)}`;
  const hint =
    through === undefined
      ? 'if the way out leads through a proxy, give it as profile.proxy of the connection'
      : `it is the proxy for ${url.hostname}`;
  return new Unreachable(`cannot reach ${what} from ${hostname()}: no answer for ${ms / 1000} s; ${hint}`);
};

/** Aborts a request that does not connect in time, or that stops receiving data. */
const bounded = (request: ClientRequest, url: URL, through: URL | undefined, way: Way): ClientRequest => {
  const { connectMs = CONNECT_MS } = way;
  const timer = setTimeout(() => request.destroy(unreachable(url, through, connectMs)), connectMs);
  const stop = (): void => clearTimeout(timer);
  request.on('socket', (socket) => {
    if (socket.connecting) socket.once('connect', stop);
    else stop();
  });
  request.on('close', stop);
  request.on('timeout', () => request.destroy(new Error(`no answer for ${SILENCE_MS / 1000} s`)));
  return request;
};

/** Opens a tunnel to the server through the proxy (RFC 9110, CONNECT). */
const tunnel = (url: URL, through: URL, way: Way): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const path = `${url.hostname}:${portOf(url)}`;
    const to = { host: through.hostname.replace(/^\[|\]$/g, ''), port: portOf(through), method: 'CONNECT', path };
    const request = bounded(
      httpRequest({ ...to, headers: { host: path }, timeout: SILENCE_MS, ...lookupOf(way) }),
      url,
      through,
      way,
    );
    request.once('connect', ({ statusCode = 0 }, socket: Socket) => {
      if (statusCode === OK) return resolve(socket);
      socket.destroy();
      reject(new Final(`the proxy ${through.host} refuses ${path}: it answers ${statusCode}`));
    });
    request.on('response', (response: IncomingMessage) => {
      response.resume();
      reject(new Final(`the proxy ${through.host} refuses ${path}: it answers ${response.statusCode ?? 0}`));
    });
    request.on('error', reject);
    request.end();
  });

const lookupOf = ({ lookup }: Way): Pick<RequestOptions, 'lookup'> => (lookup === undefined ? {} : { lookup });

const requestOf = async (
  url: URL,
  through: URL | undefined,
  way: Way,
  headers: Record<string, string>,
): Promise<ClientRequest> => {
  const options: RequestOptions = { headers, timeout: SILENCE_MS, ...lookupOf(way) };
  if (through === undefined) return (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options);
  if (url.protocol === 'https:') {
    const socket = await tunnel(url, through, way);
    // Only a request without any agent uses createConnection: with `agent: false`, Node.js connects directly.
    const secured = (): Socket => tlsConnect({ socket, servername: url.hostname });
    return httpsRequest(url, { ...options, createConnection: secured });
  }
  const to = { host: through.hostname.replace(/^\[|\]$/g, ''), port: portOf(through), path: url.href };
  return httpRequest({ ...options, ...to, headers: { ...headers, host: url.host } });
};

const ask = async (url: URL, from: number, way: Way): Promise<IncomingMessage> => {
  const through = proxyOf(url, way.proxy);
  const headers: Record<string, string> = from > 0 ? { range: `bytes=${from}-` } : {};
  const request = bounded(await requestOf(url, through, way, headers), url, through, way);
  return new Promise((resolve, reject) => {
    request.on('response', resolve);
    request.on('error', reject);
    request.end();
  });
};

const follow = async (address: string, from: number, way: Way): Promise<IncomingMessage> => {
  let url = new URL(address);
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const response = await ask(url, from, way);
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

/** Remembers that a server is unreachable. */
class Reachability {
  private known: { readonly error: Unreachable; readonly untilMs: number } | undefined;

  check(): void {
    if (this.known !== undefined && performance.now() < this.known.untilMs) throw this.known.error;
  }

  failed(error: unknown): void {
    if (error instanceof Unreachable && error !== this.known?.error)
      this.known = { error, untilMs: performance.now() + UNREACHABLE_FOR_MS };
  }
}

const retried = async <T>(address: string, reach: Reachability, work: () => Promise<T>): Promise<T> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      reach.check();
      return await work();
    } catch (error) {
      const message = wordsOf(error);
      const triesMax = error instanceof Unreachable ? UNREACHED_TRIES_MAX : TRIES_MAX;
      if (error instanceof Final || attempt >= triesMax) {
        reach.failed(error);
        throw new ExternalFailure({ operation: 'download', target: address, message, cause: error });
      }
      await sleep(RETRY_FIRST_MS * 2 ** (attempt - 1));
    }
  }
};

const unexpected = (response: IncomingMessage): Error => {
  const { statusCode = 0 } = response;
  response.resume();
  const message = `the server answers ${statusCode}`;
  // Client errors such as 404 and 403 are final; 429 and server errors are retried.
  return statusCode >= 400 && statusCode < 500 && statusCode !== 429 ? new Final(message) : new Error(message);
};

const textOf = async (address: string, way: Way): Promise<string | undefined> => {
  const response = await follow(address, 0, way);
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

/** How much of the file is downloaded; a retry resumes from here. */
interface Progress {
  bytes: number;
  hash: Hash;
}

const receive = async (address: string, file: FileHandle, done: Progress, way: Way): Promise<void> => {
  const response = await follow(address, done.bytes, way);
  if (response.statusCode === OK && done.bytes > 0) {
    // A server without support for ranges starts from the beginning, so the file is truncated.
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

/** A web server with the files of a mirror, or the official site. */
export const urlSource = (location: string, files: HostFiles, way: Way = {}): SourceFiles => {
  const reach = new Reachability();
  const address = (path: string): string => mirrorLocation(location, path);
  return {
    address,
    text: (path) => retried(address(path), reach, () => textOf(address(path), way)),
    get: async (path, to, mode) => {
      await mkdir(dirname(files.at(to)), { recursive: true });
      const file = await open(files.at(to), 'w', mode);
      try {
        await file.chmod(mode);
        const done: Progress = { bytes: 0, hash: createHash('sha256') };
        await retried(address(path), reach, () => receive(address(path), file, done, way));
        await file.sync();
        return done.hash.digest('hex');
      } finally {
        await file.close();
      }
    },
    inPlace: () => undefined,
  };
};
