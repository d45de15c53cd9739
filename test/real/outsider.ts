import { ExternalFailure } from '@fairlead/contracts';
import { lastWordsOf, runCommand, type CommandResult } from '@fairlead/embedded/process';
import type { HostNetwork } from '@fairlead/nspawn';

const TIMEOUT_MS = 30_000;

/** A machine in the hosts' network that is not a host and is unknown to Fairlead: a client, or an intruder. */
export interface Outsider {
  readonly address: string;
  /** The command that runs a program there. */
  wrap(words: readonly string[]): readonly string[];
  /** Runs a program there to its end; never throws because of its result. */
  run(words: readonly string[], timeoutMs?: number): Promise<CommandResult>;
  remove(): Promise<void>;
}

const ip = async (target: string, ...words: readonly string[]): Promise<void> => {
  const result = await runCommand('ip', words, { timeoutMs: TIMEOUT_MS });
  if (result.code !== 0)
    throw new ExternalFailure({ operation: `ip ${words.join(' ')}`, target, message: lastWordsOf(result) });
};

/** Joins the network with an address that is assigned neither to hosts nor to load balancers: one of the ten lowest. */
export const joinNetwork = async ({ namespace, cidr }: HostNetwork, address: string): Promise<Outsider> => {
  const [own, port] = [`${namespace}-${address.split('.').at(-1)}`, `out${address.split('.').at(-1)}`];
  await ip(address, 'netns', 'add', own);
  await ip(address, '-n', namespace, 'link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', own);
  await ip(address, '-n', namespace, 'link', 'set', port, 'master', 'br0', 'up');
  await ip(address, '-n', own, 'address', 'add', `${address}/${cidr.split('/')[1]}`, 'dev', 'eth0');
  for (const device of ['lo', 'eth0']) await ip(address, '-n', own, 'link', 'set', device, 'up');
  const into = `--net=/run/netns/${own}`;
  return {
    address,
    wrap: (words) => ['nsenter', into, ...words],
    run: (words, timeoutMs = TIMEOUT_MS) => runCommand('nsenter', [into, ...words], { timeoutMs }),
    remove: () => ip(address, 'netns', 'delete', own),
  };
};
