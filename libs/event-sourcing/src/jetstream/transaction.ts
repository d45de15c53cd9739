import { isDataError } from './data.errors.js';
import type { Pool, PoolClient } from 'pg';

/** A query in progress rejects by itself; this handles a connection that breaks between two queries. */
const brokenBetweenQueries = (): undefined => undefined;

/** Runs work in one transaction; a broken connection is discarded. */
export const inTransaction = async <T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> => {
  const client = await pool.connect();
  client.on('error', brokenBetweenQueries);
  let broken: Error | undefined;
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback').catch((failure: Error) => {
      broken = failure;
    });
    throw error;
  } finally {
    client.off('error', brokenBetweenQueries);
    client.release(broken);
  }
};

/** Within a transaction: all of the work, or none of it and the data error that caused the failure. */
export const orNothing = async (client: PoolClient, work: () => Promise<unknown>): Promise<Error | undefined> => {
  await client.query('savepoint piece');
  try {
    await work();
    await client.query('release savepoint piece');
    return undefined;
  } catch (error) {
    if (!isDataError(error)) throw error;
    await client.query('rollback to savepoint piece');
    return error;
  }
};
