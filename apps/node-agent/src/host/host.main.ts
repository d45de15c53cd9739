import { HOST_CHANNEL_PATHS, HostChannelConfig, wordsOf } from '@fairlead/contracts';
import { parseJson } from '@fairlead/parsers';
import { access, chmod, readFile, rename, writeFile } from 'node:fs/promises';
import type { AgentLog } from '../node/host.ports.js';
import { HostChannel } from './host.channel.js';
import { joinCluster } from './host.join.js';

const PRIVATE = 0o600;
const CONFIG_LENGTH_MAX = 262_144;

const isThere = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** `--join`: requests admission of this host. The token is read from the environment, which other users cannot see. */
export const runJoin = async (
  root: string,
  { server = '', cluster: address = '' }: { readonly server?: string; readonly cluster?: string },
): Promise<void> => {
  const [namespace = '', cluster = ''] = address.split('/');
  const token = process.env['FAIRLEAD_JOIN_TOKEN'] ?? '';
  const say = (words: string): void => void process.stderr.write(`fairlead: ${words}\n`);
  try {
    await joinCluster({ root, server, namespace, cluster, token, say });
  } catch (error) {
    say(wordsOf(error));
    process.exit(1);
  }
  process.exit(0);
};

/** `--host`: runs the channel of an admitted host. Ends when the host is reset. */
export const runHostChannel = async (root: string, log: AgentLog, stopped: Promise<unknown>): Promise<void> => {
  const configFile = `${root}${HOST_CHANNEL_PATHS.config}`;
  const credentialsFile = `${root}${HOST_CHANNEL_PATHS.credentials}`;
  const config = HostChannelConfig.parse(
    parseJson(await readFile(configFile, 'utf8'), { lengthMax: CONFIG_LENGTH_MAX }),
  );
  const channel = new HostChannel({
    config,
    credentials: await readFile(credentialsFile, 'utf8'),
    root,
    keep: async (text) => {
      await writeFile(`${credentialsFile}.new`, text, { mode: PRIVATE });
      await chmod(`${credentialsFile}.new`, PRIVATE);
      await rename(`${credentialsFile}.new`, credentialsFile);
    },
    isWanted: () => isThere(configFile),
    random: Math.random,
    log,
  });
  void stopped.then(() => channel.stop());
  await channel.run();
  log('info', 'the channel of this host has ended', {});
  process.exit(0);
};
