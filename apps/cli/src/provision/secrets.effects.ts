import { join } from 'node:path';
import { readIfAny } from '@fairlead/embedded';
import type { ExitClass } from '../exit-codes.js';
import { CliFailure } from '../failures.js';
import { ownWordsOf } from '../foreign.words.js';
import { FILES_OF_HOLDER, HOLDERS, type Holder } from './holders.planner.js';
import type { SecretsSettings } from './provision.settings.js';

const TIMEOUT_MS = 30_000;
const WORDS_MAX = 500;
const [UNAUTHORIZED, FORBIDDEN] = [401, 403];

/**
 * Applies a Secret `<prefix>-<holder>` for each holder to the namespace of this pod, with the files in the holder's
 * folder, once it has all of them. Returns a sentence. Other Secrets stay as they are.
 */
export const provideSecrets = async (settings: SecretsSettings): Promise<string> => {
  const { prefix } = settings;
  const account = accountOf(settings);
  const written: string[] = [];
  for (const holder of HOLDERS) {
    const data = filesOf(settings, holder);
    if (data === undefined) continue;
    await apply(account, { ...settings, name: `${prefix}-${holder}`, data });
    written.push(`${prefix}-${holder}`);
  }
  return `The namespace ${account.namespace} has the Secrets ${written.join(', ')}.`;
};

interface Account {
  readonly namespace: string;
  readonly token: string;
}

const accountOf = ({ serviceAccountDir }: SecretsSettings): Account => {
  const [namespace, token] = ['namespace', 'token'].map((name) => readIfAny(join(serviceAccountDir, name))?.trim());
  if (namespace !== undefined && token !== undefined) return { namespace, token };
  throw new CliFailure('not-found', {
    code: 'cli.no-service-account',
    message: `There is no token of a service account in ${serviceAccountDir}`,
    help: 'Run the command in a pod with a service account that may create and patch Secrets, as the chart in deploy/chart does',
  });
};

/** undefined: a file is still missing, such as a database URL before the databases. A pod waits until its Secret exists. */
const filesOf = ({ secretsDir }: SecretsSettings, holder: Holder): Readonly<Record<string, string>> | undefined => {
  const data: Record<string, string> = {};
  for (const { name } of FILES_OF_HOLDER[holder]) {
    const text = readIfAny(join(secretsDir, holder, name));
    if (text === undefined) return undefined;
    data[name] = Buffer.from(text).toString('base64');
  }
  return data;
};

interface AppliedSecret {
  readonly server: string;
  readonly name: string;
  readonly data: Readonly<Record<string, string>>;
}

/** Server-side apply, so that a repeated call changes nothing. */
const apply = async ({ namespace, token }: Account, { server, name, data }: AppliedSecret): Promise<void> => {
  const url = new URL(`/api/v1/namespaces/${namespace}/secrets/${name}?fieldManager=fairlead&force=true`, server);
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, type: 'Opaque', data };
  let response: Response;
  try {
    response = await fetch(url, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/apply-patch+yaml' },
      body: JSON.stringify(secret),
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  } catch (error) {
    throw notApplied('unreachable', `${name} was not applied at ${server}: ${wordsOf(error)}`, error);
  }
  // The answer is the Secret itself, which must not be printed.
  if (response.ok) return void (await response.body?.cancel());
  const isDenied = response.status === UNAUTHORIZED || response.status === FORBIDDEN;
  const words = `HTTP ${response.status}: ${await firstWords(response)}`;
  throw notApplied(isDenied ? 'unauthorised' : 'failed', `${name} was not applied at ${server}: ${words}`);
};

const notApplied = (exit: ExitClass, words: string, cause?: unknown): CliFailure =>
  new CliFailure(exit, { code: 'cli.secret-not-applied', message: `The Secret ${words}`, cause });

/** fetch reports what failed as the cause of its own error. */
const wordsOf = (error: unknown): string => {
  const failed = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return failed instanceof Error ? (ownWordsOf(failed) ?? failed.message) : String(failed);
};

const firstWords = async (response: Response): Promise<string> => {
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return Buffer.from(value ?? [])
    .toString('utf8', 0, WORDS_MAX)
    .replaceAll(/\s+/g, ' ');
};
