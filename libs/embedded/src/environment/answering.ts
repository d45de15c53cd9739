import { errorCodeOf, wordsOf } from '@fairlead/contracts';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { EnvironmentFault } from '../faults.js';
import { checkWith, type NatsIdentity } from '../nats/nats.server.js';

/*
 * Waits for servers that are started elsewhere at the same time: an unreachable or starting server is retried; a
 * rejection is not.
 */

const POLL_MS = 250;
const CONNECT_TIMEOUT_MS = 5_000;
/** Password, authorization, database (PostgreSQL, appendix A). */
const POSTGRES_REFUSALS = new Set(['28P01', '28000', '3D000', '42501']);

/**
 * Resolves when NATS accepts that credential. Throws an `EnvironmentFault`: immediately if it is rejected, at the
 * deadline if the server does not answer.
 */
export const untilNatsAnswers = (
  url: string,
  identity: NatsIdentity & { readonly credsFile: string },
  timeoutMs: number,
): Promise<void> =>
  untilAnswered(timeoutMs, {
    ask: () => checkWith(url, identity),
    refusal: (error) => {
      if (error instanceof EnvironmentFault) return error;
      if (!isAuthorizationError(error)) return undefined;
      return new EnvironmentFault('nats-refused', {
        operation: 'connect to NATS',
        target: url,
        message: `NATS at ${url} refuses ${identity.credsFile}: ${wordsOf(error)}. It must trust the operator that made this file: start it with the nats.conf that was made with it.`,
        cause: error,
      });
    },
    silence: (error) => silence('NATS', url, { timeoutMs, error }),
  });

/**
 * Resolves when PostgreSQL accepts that URL. Throws an `EnvironmentFault`: immediately if it is rejected, at the
 * deadline if the server does not answer.
 */
export const untilPostgresAnswers = (adminUrl: string, timeoutMs: number): Promise<void> => {
  const { host, pathname, username } = new URL(adminUrl);
  const target = `${host}${pathname}`;
  return untilAnswered(timeoutMs, {
    ask: () => connectOnce(adminUrl),
    refusal: (error) => {
      if (!POSTGRES_REFUSALS.has(errorCodeOf(error) ?? '')) return undefined;
      return new EnvironmentFault('database-refused', {
        operation: 'connect to PostgreSQL',
        target,
        message: `PostgreSQL at ${target} refuses ${username}: ${wordsOf(error)}. Correct the role, its password, or the database.`,
        cause: error,
      });
    },
    silence: (error) => silence('PostgreSQL', target, { timeoutMs, error }),
  });
};

interface Question {
  readonly ask: () => Promise<void>;
  /** The fault that a retry cannot fix; undefined for a transient one. */
  readonly refusal: (error: unknown) => EnvironmentFault | undefined;
  readonly silence: (error: unknown) => EnvironmentFault;
}

const untilAnswered = async (timeoutMs: number, { ask, refusal, silence: given }: Question): Promise<void> => {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      const refused = refusal(error);
      if (refused !== undefined) throw refused;
      if (performance.now() >= deadline) throw given(error);
    }
    await sleep(POLL_MS);
  }
};

const silence = (server: string, target: string, { timeoutMs, error }: { timeoutMs: number; error: unknown }) =>
  new EnvironmentFault('not-ready', {
    operation: `wait for ${server}`,
    target,
    message: `${server} at ${target} did not answer within ${Math.round(timeoutMs / 1_000)} s: ${wordsOf(error)}. Start it, or correct its address.`,
    cause: error,
  });

const isAuthorizationError = (error: unknown): boolean =>
  error instanceof Error && (error.name === 'AuthorizationError' || error.name === 'UserAuthenticationExpiredError');

const connectOnce = async (connectionString: string): Promise<void> => {
  const client = new Client({ connectionString, connectionTimeoutMillis: CONNECT_TIMEOUT_MS });
  client.on('error', () => undefined); // A lost connection also fails the query in progress, which reports it.
  try {
    await client.connect();
    await client.query('select 1');
  } finally {
    await client.end();
  }
};
