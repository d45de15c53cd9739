import { faultOfGateUrl } from '@fairlead/contracts';
import { deadlineAfter } from '@fairlead/service-kit';
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import * as http from 'node:http';
import * as https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { faultOfAddress, type AddressRange } from '../../gates/addresses.rules.js';
import type { GateHttp, HttpAnswer } from '../../gates/gates.ports.js';

const TIME_LIMIT_MS = 10_000;
const HEADER_BYTES_MAX = 16_384;
/** Answers like 100 and 103, before the one that counts. */
const INFORMATIONAL_MAX = 8;

export interface CheckedHttpOptions {
  /** Besides public addresses. */
  readonly allowed: readonly AddressRange[];
  readonly timeLimitMs?: number;
  readonly resolve?: (host: string) => Promise<readonly LookupAddress[]>;
}

/**
 * Resolves a name once, checks every address of it, and connects to these addresses alone. Follows no redirect, uses no proxy, reads
 * the status and the headers and nothing of the body.
 */
export class CheckedHttp implements GateHttp {
  private readonly resolve: NonNullable<CheckedHttpOptions['resolve']>;

  constructor(private readonly options: CheckedHttpOptions) {
    this.resolve = options.resolve ?? ((host) => lookup(host, { all: true }));
  }

  async ask(text: string, signal: AbortSignal): Promise<HttpAnswer> {
    const fault = faultOfGateUrl(text);
    if (fault !== undefined) return { kind: 'refused', why: fault };
    signal.throwIfAborted();
    const { timeLimitMs = TIME_LIMIT_MS } = this.options;
    const late = deadlineAfter(timeLimitMs);
    try {
      return await this.askInTime(new URL(text), AbortSignal.any([signal, late.signal]));
    } catch (error) {
      signal.throwIfAborted();
      return { kind: 'silent', why: late.signal.aborted ? `no answer within ${timeLimitMs} ms` : wordsOf(error) };
    } finally {
      late.clear();
    }
  }

  private async askInTime(url: URL, ended: AbortSignal): Promise<HttpAnswer> {
    // The URL parser has written every form of an IPv4 address (2130706433, 0x7f.1) in four decimal parts.
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const family = isIP(host);
    const found = family === 0 ? await unlessEnded(this.resolve(host), ended) : [{ address: host, family }];
    if (found.length === 0) return { kind: 'silent', why: `${host} has no address` };
    for (const { address } of found) {
      const fault = faultOfAddress(address, this.options.allowed);
      if (fault !== undefined) return { kind: 'refused', why: refusalOf(host, address, fault) };
    }
    return { kind: 'answered', status: await statusOf(url, { host, addresses: found, ended }) };
  }
}

const refusalOf = (host: string, address: string, fault: string): string => {
  const what = host === address ? address : `${host} resolves to ${address}, which`;
  return `${what} is ${fault}; an administrator can allow it with GATE_ADDRESSES_ALLOWED`;
};

interface Target {
  readonly host: string;
  /** The only ones that are connected to. */
  readonly addresses: readonly LookupAddress[];
  readonly ended: AbortSignal;
}

const statusOf = (url: URL, { host, addresses, ended }: Target): Promise<number> =>
  new Promise((resolve, reject) => {
    const client = url.protocol === 'https:' ? https : http;
    const request = client.request({
      protocol: url.protocol,
      // The certificate is checked against this name.
      host,
      port: url.port,
      path: `${url.pathname}${url.search}`,
      headers: { accept: '*/*', 'user-agent': 'fairlead' },
      lookup: lookupOf(addresses),
      // A connection of its own: no proxy, none that another gate has opened.
      agent: false,
      maxHeaderSize: HEADER_BYTES_MAX,
      signal: ended,
    });
    let informational = 0;
    request.on('information', () => {
      informational += 1;
      if (informational > INFORMATIONAL_MAX) request.destroy(new Error('too many informational answers'));
    });
    request.on('response', (response) => {
      // One packet may hold this one and those before it that were too many.
      if (informational <= INFORMATIONAL_MAX) resolve(response.statusCode ?? 0);
      response.destroy();
    });
    request.on('error', reject);
    request.end();
  });

const lookupOf =
  (addresses: readonly LookupAddress[]): LookupFunction =>
  (_host, options, done) => {
    const [first] = addresses;
    if (options.all === true || first === undefined) done(null, [...addresses]);
    else done(null, first.address, first.family);
  };

/** A resolver cannot be interrupted; its answer is no longer waited for. */
const unlessEnded = <Result>(work: Promise<Result>, ended: AbortSignal): Promise<Result> =>
  new Promise((resolve, reject) => {
    const abort = (): void => reject(ended.reason as Error);
    ended.addEventListener('abort', abort, { once: true });
    void work.then(resolve, reject).finally(() => ended.removeEventListener('abort', abort));
  });

/** With several addresses there is an error for each, and no message over them. */
const wordsOf = (error: unknown): string => {
  if (error instanceof AggregateError) return error.errors.map(wordsOf).join(', ');
  return error instanceof Error ? error.message : String(error);
};
