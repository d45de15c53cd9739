import {
  HOST_CHANNEL_PATHS,
  HostJoinView,
  wordsOf,
  type HostChannelConfig,
  type HostFacts,
  type HostJoinRequest,
} from '@fairlead/contracts';
import { credsOf, keyOfSeed, newKey, type NKey } from '@fairlead/embedded/credentials';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import { chmod, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { cpus, hostname, totalmem } from 'node:os';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const ASK_EVERY_MS = 2_000;
const ANSWER_LENGTH_MAX = 262_144;

export const parseAnswer = (text: string): unknown => parseJsonOrUndefined(text, { lengthMax: ANSWER_LENGTH_MAX });
const ANSWER_TIMEOUT_MS = 30_000;
/** The host stops trying after this long without a response; the command may be repeated. */
const SILENT_MS = 10 * 60_000;
const PRIVATE = 0o600;
const BYTES_PER_MIB = 1_048_576;

/** Kept until the host is admitted, because the token is bound to the first key that was presented. */
const keyFile = (root: string): string => `${root}${HOST_CHANNEL_PATHS.seed}`;

const writePrivate = async (path: string, text: string): Promise<void> => {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(`${path}.new`, text, { mode: PRIVATE });
  await chmod(`${path}.new`, PRIVATE);
  await rename(`${path}.new`, path);
};

const ownKey = async (root: string): Promise<NKey> => {
  try {
    return keyOfSeed(await readFile(keyFile(root), 'utf8'));
  } catch {
    const key = newKey('user');
    await writePrivate(keyFile(root), `${key.seed}\n`);
    return key;
  }
};

/** The local address from which this host reaches the server. */
const addressTo = (server: URL): Promise<string> =>
  new Promise((resolve, reject) => {
    const port = Number(server.port || (server.protocol === 'https:' ? 443 : 80));
    const socket = createConnection({
      host: server.hostname.replace(/^\[|\]$/g, ''),
      port,
      timeout: ANSWER_TIMEOUT_MS,
    });
    socket.once('connect', () => {
      const { localAddress = '' } = socket;
      socket.destroy();
      resolve(localAddress.replace(/^::ffff:/, ''));
    });
    socket.once('timeout', () => socket.destroy(new Error('no answer')));
    socket.once('error', reject);
  });

/** The file in which cloud-init stores the ID of the machine in its cloud. */
const instanceOf = async (root: string): Promise<Pick<HostFacts, 'instanceId'>> => {
  const text = await readFile(`${root}/var/lib/cloud/data/instance-id`, 'utf8').catch(() => '');
  return text.trim() === '' ? {} : { instanceId: text.trim() };
};

const factsOf = async (root: string, server: URL): Promise<HostFacts> => ({
  hostname: hostname(),
  machineId: (await readFile(`${root}/etc/machine-id`, 'utf8')).trim(),
  address: process.env['FAIRLEAD_HOST_ADDRESS'] ?? (await addressTo(server)),
  architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
  cpus: cpus().length,
  memoryMiB: Math.floor(totalmem() / BYTES_PER_MIB),
  ...(await instanceOf(root)),
});

export interface JoinOptions {
  readonly root: string;
  readonly server: string;
  readonly namespace: string;
  readonly cluster: string;
  readonly token: string;
  readonly say: (words: string) => void;
}

const ask = async (server: URL, request: HostJoinRequest): Promise<HostJoinView | string> => {
  const response = await fetch(new URL('/join', server), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
    signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
    redirect: 'error',
  });
  const text = await response.text();
  const json = parseAnswer(text);
  const view = HostJoinView.safeParse(json);
  if (response.status === 200 && view.success) return view.data;
  const words = (json as { message?: unknown } | undefined)?.message;
  const message = typeof words === 'string' ? words : `the server answered with status ${response.status}`;
  // Temporary errors are retried.
  if (response.status >= 500 || response.status === 429 || response.status === 409) throw new Error(message);
  return message;
};

/**
 * Requests admission until it is granted, then writes the configuration of the channel. Rejects with a message for the
 * operator of the host.
 */
export const joinCluster = async (options: JoinOptions): Promise<void> => {
  const { root, namespace, cluster, token, say } = options;
  const server = new URL(options.server);
  const key = await ownKey(root);
  const facts = await factsOf(root, server);
  const request = { namespace, cluster, token, user: key.publicKey, facts } as HostJoinRequest;
  let answeredAtMs = performance.now();
  let said = '';
  for (;;) {
    try {
      const answer = await ask(server, request);
      if (typeof answer === 'string') throw new RefusedJoin(answer);
      answeredAtMs = performance.now();
      if (answer.status === 'Rejected') throw new RefusedJoin(answer.message);
      if (answer.message !== said) say((said = answer.message));
      if (answer.credential !== undefined) return await keep(root, key, answer.credential);
    } catch (error) {
      if (error instanceof RefusedJoin) throw error;
      if (performance.now() - answeredAtMs > SILENT_MS) throw error;
      const words = `${server.origin}: ${wordsOf(error)}; trying again`;
      if (words !== said) say((said = words));
    }
    await sleep(ASK_EVERY_MS);
  }
};

class RefusedJoin extends Error {}

const keep = async (
  root: string,
  key: NKey,
  { jwt, ...credential }: NonNullable<HostJoinView['credential']>,
): Promise<void> => {
  const config: HostChannelConfig = credential;
  await writePrivate(`${root}${HOST_CHANNEL_PATHS.credentials}`, credsOf(jwt, key.seed));
  await writePrivate(`${root}${HOST_CHANNEL_PATHS.config}`, `${JSON.stringify(config, undefined, 2)}\n`);
};
