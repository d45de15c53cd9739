import { createInterface } from 'node:readline';
import * as z from 'zod';
import { ConfigurationError, type Env } from './config.js';

const Variables = z.record(z.string(), z.string());

/**
 * The environment variables of a service. With `FAIRLEAD_ENV=stdin`, one line of JSON on standard input adds to them:
 * the service can load its code before the servers that it needs have started.
 */
export const givenEnvironment = async (env: Env, input: NodeJS.ReadableStream): Promise<Env> => {
  if (env['FAIRLEAD_ENV'] !== 'stdin') return env;
  for await (const line of createInterface({ input })) return { ...env, ...Variables.parse(JSON.parse(line)) };
  throw new ConfigurationError(['FAIRLEAD_ENV: standard input ended without a line of variables']);
};
