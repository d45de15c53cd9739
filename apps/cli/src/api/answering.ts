import { setTimeout as sleep } from 'node:timers/promises';
import { CliFailure } from '../failures.js';
import { deadlineAfter } from '../time/deadline.js';
import type { Access } from './access.js';
import { refusalOf, unreachable } from './api.failures.js';

/** Backoff while the server does not answer. */
const OUTAGE_AGAIN_FIRST_MS = 100;
const OUTAGE_AGAIN_MAX_MS = 2_000;

/** Longer than the gateway's longest wait for a projection. */
const TIMEOUT_MS = 60_000;

/** All repetitions together take longer than the 10 s for which a killed gateway holds an idempotency key. */
const REPEAT_EVERY_MS = 500;

const REPETITIONS_MAX = 40;

/**
 * Sends a request and returns only a successful response; every other outcome is a `CliFailure`. A request whose key is
 * already in use, by another command or by a gateway that was killed, is retried until it is answered. A waiting
 * command also retries an idempotent request while the server is unreachable.
 */
export const answering =
  (access: Access) =>
  async (request: Request): Promise<Response> => {
    if (access.token === undefined) request.headers.delete('authorization');
    let againMs = OUTAGE_AGAIN_FIRST_MS;
    for (let repetitions = 0; ;) {
      try {
        return await answered(access, request.clone());
      } catch (error) {
        const { interrupted: signal } = access;
        if (isUnderWay(error) && repetitions < REPETITIONS_MAX) {
          repetitions += 1;
          await sleep(REPEAT_EVERY_MS, undefined, { signal });
        } else if (isRepeatable(request) && isOutage(error) && access.outage?.failed(error.message) === true) {
          await sleep(againMs, undefined, { signal });
          againMs = Math.min(againMs * 2, OUTAGE_AGAIN_MAX_MS);
        } else throw error;
      }
    }
  };

const isUnderWay = (error: unknown): boolean => error instanceof CliFailure && error.code === 'idempotency.in-progress';

/** A second delivery has no further effect. */
const isRepeatable = ({ method, headers }: Request): boolean => method === 'GET' || headers.has('idempotency-key');

/** The gateway, or a service that it depends on, is unavailable. */
const OUTAGE_CODES: ReadonlySet<string> = new Set([
  'cli.unreachable',
  'system.unavailable',
  'http.502',
  'http.503',
  'http.504',
]);

const isOutage = (error: unknown): error is CliFailure => error instanceof CliFailure && OUTAGE_CODES.has(error.code);

const answered = async (access: Access, request: Request): Promise<Response> => {
  const late = deadlineAfter(TIMEOUT_MS);
  const signal = AbortSignal.any([access.interrupted, late.signal]);
  try {
    const unlessLost = <T>(answer: Promise<T>): Promise<T> =>
      answer.catch((error: unknown) => {
        if (access.interrupted.aborted || error instanceof CliFailure) throw error;
        throw unreachable(access, late.signal.aborted ? new Error(`no answer within ${TIMEOUT_MS / 1_000} s`) : error);
      });
    const response = await unlessLost(access.fetch(new Request(request, { signal })));
    if (!response.ok) throw await refusalOf(response, `${request.method} ${new URL(request.url).pathname}`);
    const body = await unlessLost(response.arrayBuffer()); // Read here, within the timeout.
    access.outage?.answered();
    return new Response(body.byteLength === 0 ? null : body, response);
  } finally {
    late.clear();
  }
};
