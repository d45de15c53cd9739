import { errorCodeOf } from '@fairlead/contracts';
import { closeSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeFolder, writeWhole } from '@fairlead/embedded/process';
import { parseJson } from '@fairlead/parsers';
import * as z from 'zod';
import { CliFailure, usageFailure, wordsOf } from '../failures.js';
import { FILE_LIMITS } from '../io/file.limits.js';
import type { Io } from '../io/io.js';
import { SignedIn } from './signed.in.js';
import { refuseUntrusted } from './instance.trust.js';

/** A server, and the credentials for it. */
export const Context = z.strictObject({
  server: z.string().min(1),
  caFile: z.string().optional(),
  namespace: z.string().optional(),
  /** The token is in this file or in `token`; if both are absent, requests are sent without one. */
  tokenFile: z.string().optional(),
  token: z.string().optional(),
  /** A user signed in at the identity provider of the server; takes precedence over the token. */
  signedIn: SignedIn.optional(),
});
export type Context = z.infer<typeof Context>;

const Contexts = z.strictObject({
  format: z.literal(1),
  current: z.string().nullable(),
  contexts: z.record(z.string(), Context),
});
export type Contexts = z.infer<typeof Contexts>;

const NONE: Contexts = { format: 1, current: null, contexts: {} };
const READABLE_BY_OTHERS = 0o077;
const LOCK_AGAIN_MS = 50;
const LOCK_TRIES_MAX = 300;
/** A lock is held for milliseconds, or while a sign-in is refreshed: an older one remained from a killed process. */
const LOCK_AGE_MAX_MS = 20_000;

type Surroundings = Pick<Io, 'env'>;

const folderOf = ({ env }: Surroundings): string | undefined => {
  const { XDG_CONFIG_HOME: config, HOME: home } = env;
  if (config !== undefined && config.startsWith('/')) return join(config, 'fairlead');
  return home === undefined || home === '' ? undefined : join(home, '.config', 'fairlead');
};

/** undefined: this user has no home folder. */
export const contextsFile = (io: Surroundings): string | undefined => {
  const folder = folderOf(io);
  return folder === undefined ? undefined : join(folder, 'contexts.json');
};

/** The file contains tokens, so only this user may have access to it. */
const refuseReadable = (file: string): void => {
  if ((statSync(file).mode & READABLE_BY_OTHERS) === 0) return;
  throw new CliFailure('unauthorised', {
    code: 'cli.contexts-readable',
    message: `${file} can be read by other users`,
    help: `It may hold tokens: chmod 600 ${file}, and revoke tokens that others may have read.`,
  });
};

/** No contexts if the file does not exist. Throws if it is damaged, or if other users have access to it. */
export const readContexts = (io: Surroundings): Contexts => {
  const file = contextsFile(io);
  if (file === undefined) return NONE;
  try {
    const text = readFileSync(file, 'utf8');
    refuseUntrusted([dirname(file), file], 'The folder of contexts');
    refuseReadable(file);
    return Contexts.parse(parseJson(text, FILE_LIMITS));
  } catch (error) {
    if (error instanceof CliFailure) throw error;
    if (errorCodeOf(error) === 'ENOENT' || errorCodeOf(error) === 'ENOTDIR') return NONE;
    throw new CliFailure('failed', {
      code: 'cli.contexts-damaged',
      message: `The contexts in ${file} cannot be used: ${error instanceof z.ZodError ? 'it was written by another release or by hand' : wordsOf(error)}`,
      help: 'Correct the file, or move it away and set the contexts again. Nothing was changed.',
      cause: error,
    });
  }
};

const isAbandoned = (lock: string): boolean => {
  const stats = statSync(lock, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > LOCK_AGE_MAX_MS;
};

/** Serializes changes, so that none is lost. */
const locked = async <T>(file: string, change: () => T | Promise<T>): Promise<T> => {
  const lock = `${file}.lock`;
  makeFolder(dirname(file), 0o700);
  for (let tries = 1; ; tries += 1) {
    try {
      closeSync(openSync(lock, 'wx', 0o600));
      break;
    } catch (error) {
      if (errorCodeOf(error) !== 'EEXIST') throw unwritable(file, error);
      if (isAbandoned(lock)) rmSync(lock, { force: true });
      else if (tries === LOCK_TRIES_MAX)
        throw new CliFailure('conflict', {
          code: 'cli.contexts-locked',
          message: `${file} is being changed by another command`,
          help: `Try again; if no other command runs, delete ${lock}.`,
        });
      else await sleep(LOCK_AGAIN_MS);
    }
  }
  try {
    return await change();
  } finally {
    rmSync(lock, { force: true });
  }
};

const unwritable = (file: string, error: unknown): CliFailure =>
  new CliFailure('failed', {
    code: 'cli.contexts-unwritable',
    message: `${file} cannot be written: ${wordsOf(error)}`,
    help: 'Set XDG_CONFIG_HOME to a folder that this user can write.',
    cause: error,
  });

/** Atomically writes the contexts that `change` returns, with mode 0600. */
export const changeContexts = async (
  io: Surroundings,
  change: (contexts: Contexts) => Contexts | Promise<Contexts>,
): Promise<Contexts> => {
  const file = contextsFile(io);
  if (file === undefined) throw usageFailure('There is no folder for contexts', 'Set HOME or XDG_CONFIG_HOME.');
  return locked(file, async () => {
    const before = readContexts(io);
    const changed = await change(before);
    if (changed === before) return before;
    try {
      writeWhole(file, `${JSON.stringify(changed, undefined, 2)}\n`);
    } catch (error) {
      throw unwritable(file, error);
    }
    return changed;
  });
};

/** The same of one context. */
export const changeContext = async (
  io: Surroundings,
  name: string,
  change: (context: Context) => Promise<Context>,
): Promise<Context> => {
  const { contexts } = await changeContexts(io, async (all) => {
    const before = contextNamed(all, name);
    const changed = await change(before);
    return changed === before ? all : { ...all, contexts: { ...all.contexts, [name]: changed } };
  });
  return contexts[name]!;
};

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/;

export const checkedContextName = (name: string): string => {
  if (NAME.test(name)) return name;
  throw usageFailure(
    `${JSON.stringify(name)} is not a name of a context`,
    'Use up to 63 letters, digits, ".", "_" and "-".',
  );
};

export const contextNamed = ({ contexts }: Contexts, name: string): Context => {
  const context = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (context !== undefined) return context;
  const names = Object.keys(contexts);
  throw new CliFailure('not-found', {
    code: 'cli.context-unknown',
    message: `There is no context ${name}`,
    help:
      names.length === 0
        ? 'Set one with "fairlead context set <name> --server <url>".'
        : `There are ${names.join(', ')}: "fairlead context list" shows them.`,
  });
};

export interface ContextOptions {
  readonly context?: string | undefined;
  readonly server?: string | undefined;
  readonly data?: string | undefined;
}

export interface ChosenContext extends Context {
  readonly name: string;
}

/**
 * `--context`; none if `--server`, `--data` or FAIRLEAD_SERVER selects the server; otherwise FAIRLEAD_CONTEXT, or the
 * current context. undefined: no context is selected.
 */
export const chosenContext = (
  { context, server, data }: ContextOptions,
  io: Surroundings,
): ChosenContext | undefined => {
  if (context !== undefined && (server !== undefined || data !== undefined))
    throw usageFailure(`--context and ${server === undefined ? '--data' : '--server'} exclude each other`);
  const isElsewhere = server !== undefined || data !== undefined || (io.env['FAIRLEAD_SERVER'] ?? '') !== '';
  if (context === undefined && isElsewhere) return undefined;
  const contexts = readContexts(io);
  const name = context ?? (io.env['FAIRLEAD_CONTEXT'] || contexts.current);
  return name === null || name === undefined ? undefined : { name, ...contextNamed(contexts, name) };
};
