import { isDataError } from './data.errors.js';
import type { Pool, PoolClient } from 'pg';

/** A query in progress rejects by itself; a connection that breaks between two queries is reported here. */
const brokenBetweenQueries = (): undefined => undefined;

/** Runs work in one transaction; a connection that broke is thrown away. */
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

/** Inside a transaction: all of the work, or nothing of it and the data error that is to blame. */
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
