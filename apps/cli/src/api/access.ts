import { errorCodeOf } from '@fairlead/contracts';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CliFailure, wordsOf } from '../failures.js';
import { findInstance, instanceFile, type Instance } from '../instance/instance.store.js';
import type { Outage } from './outage.js';
import { UNTRUSTED } from '../instance/instance.trust.js';
import { chosenContext, type ChosenContext } from '../instance/contexts.store.js';
import type { Io } from '../io/io.js';
import { fetchSignedIn } from './signed.in.fetch.js';
import { fetchTrusting, readAuthority, type Fetch } from './trusting.fetch.js';

/** The address of the REST API and the credentials for it. */
export interface Access {
  readonly server: string;
  /** undefined: the request is sent without a token; the server reports whether it requires one. */
  readonly token: string | undefined;
  /** The name of the context that determined the address; undefined if none did. */
  readonly context?: string | undefined;
  /** Set when the address is that of a local instance. */
  readonly instance: Instance | undefined;
  /** Ctrl-C aborts the current request. */
  readonly interrupted: AbortSignal;
  /** The certificate authority that the user trusts, in PEM; if absent, those of the system. */
  readonly authority?: string | undefined;
  /** Trusts `authority`. */
  readonly fetch: Fetch;
  /** If absent, an unreachable server is an immediate failure. */
  readonly outage?: Outage;
}

export interface AccessOptions {
  readonly server?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly caFile?: string | undefined;
  readonly data?: string | undefined;
  readonly context?: string | undefined;
}

/**
 * The address: `--server`, FAIRLEAD_SERVER, the context, or the local instance. The token: `--token-file`, FAIRLEAD_TOKEN, or the sign-in or token of
 * the context or of the local instance, which is never sent to another server. `--context` comes before the environment.
 */
export const findAccess = (
  options: AccessOptions,
  { env, cwd, interrupts, now }: Pick<Io, 'env' | 'cwd' | 'interrupts' | 'now'>,
): Access => {
  const context = chosenContext(options, { env });
  const named = options.server ?? context?.server ?? nonEmpty(env['FAIRLEAD_SERVER']);
  const instance = named === undefined ? findInstance(cwd, options.data) : instanceIfTrusted(cwd, options.data);
  const server = named === undefined ? instance?.server : addressOf(named);
  if (server === undefined) throw noInstance(options.data === undefined ? undefined : resolve(cwd, options.data));
  const local = instance !== undefined && addressOf(instance.server) === addressOf(server) ? instance : undefined;
  const authority = readAuthority(cwd, options.caFile ?? caFileOf(options, env, context) ?? local?.caFile);
  const token = tokenOf(options, env, context, local);
  const fetch = fetchTrusting(authority);
  const { name, signedIn } = context ?? {};
  const isSignedIn = name !== undefined && signedIn !== undefined && token === signedIn.token;
  return {
    server: addressOf(server),
    token,
    context: context?.name,
    instance: local,
    interrupted: interrupts.first,
    authority,
    fetch: isSignedIn ? fetchSignedIn({ env, now }, name, signedIn, fetch) : fetch,
  };
};

/** The local instance, unless its folder cannot be trusted. If the user names a server, that is not an error. */
const instanceIfTrusted = (cwd: string, dataDir: string | undefined): Instance | undefined => {
  try {
    return findInstance(cwd, dataDir);
  } catch (error) {
    if (error instanceof CliFailure && error.code === UNTRUSTED) return undefined;
    throw error;
  }
};

const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

export const addressOf = (text: string): string => {
  const whole = text.includes('://') ? text : `http://${text}`;
  const url = URL.canParse(whole) ? new URL(whole) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new CliFailure('usage', {
      code: 'cli.server-invalid',
      message: `${text} is not the address of a server`,
      help: 'Give one like http://127.0.0.1:7080.',
    });
  }
  return url.href.replace(/(?<!\/)\/+$/, '');
};

const caFileOf = (options: AccessOptions, env: Io['env'], context: ChosenContext | undefined): string | undefined => {
  const given = nonEmpty(env['FAIRLEAD_CA_FILE']);
  return options.context === undefined ? (given ?? context?.caFile) : (context?.caFile ?? given);
};

/**
 * With --context, the context's own token takes precedence: a token in the environment may belong to another server.
 */
const tokenOf = (
  options: AccessOptions,
  env: Io['env'],
  context: ChosenContext | undefined,
  local: Instance | undefined,
): string | undefined => {
  if (options.tokenFile !== undefined) return readToken(options.tokenFile);
  const given = nonEmpty(env['FAIRLEAD_TOKEN']);
  if (given !== undefined && options.context === undefined) return given;
  if (context !== undefined)
    return (
      context.signedIn?.token ??
      context.token ??
      (context.tokenFile === undefined ? given : readToken(context.tokenFile))
    );
  return local === undefined ? undefined : readToken(local.tokenFile);
};

/** Reads the token from a file; `help` lists the other ways to pass one. */
export const readToken = (
  file: string,
  help = 'Give another one with --token-file, or the token itself in FAIRLEAD_TOKEN.',
): string => {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new CliFailure('unauthorised', {
      code: 'cli.token-unreadable',
      message: `The token file ${file} cannot be read: ${errorCodeOf(error) === 'ENOENT' ? 'it does not exist' : wordsOf(error)}`,
      help,
      cause: error,
    });
  }
};

const noInstance = (dataDir: string | undefined): CliFailure =>
  new CliFailure('unreachable', {
    code: 'cli.no-instance',
    message:
      dataDir === undefined
        ? 'Fairlead is not running: no instance was found in a .fairlead folder here or above'
        : `Fairlead is not running in ${dataDir} (there is no ${instanceFile(dataDir)})`,
    help: 'Start one with "fairlead up", name a server with --server or FAIRLEAD_SERVER, or choose one with "fairlead context use".',
  });
