import { refuse, type Refusal, type SshSettings } from '@fairlead/contracts';

export interface Reach {
  /** Where agents are configured to find NATS; undefined: that is not known here. */
  readonly agentNatsUrls: readonly string[] | undefined;
  /** Of this machine. */
  readonly ownAddresses: readonly string[];
}

/** Own hosts that are other machines cannot reach a NATS that listens on loopback: their agents would never connect. */
export const unreachableNats = (
  connection: string,
  { hosts }: Pick<SshSettings, 'hosts'>,
  { agentNatsUrls, ownAddresses }: Reach,
): readonly Refusal[] => {
  if (agentNatsUrls === undefined || !agentNatsUrls.every(isLoopback)) return [];
  const at = hosts.findIndex(({ address }) => !isHere(address, ownAddresses));
  const remote = hosts[at];
  if (remote === undefined) return [];
  const values = { connection, host: remote.name, address: remote.address, urls: agentNatsUrls.join(', ') };
  return [refuse('connection.nats-unreachable', values, `settings.hosts[${at}].address`)];
};

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/;

const isLoopback = (url: string): boolean => URL.canParse(url) && LOOPBACK.test(hostOf(url));

const hostOf = (url: string): string => new URL(url.replace(/^(nats|tls):/, 'http:')).hostname;

const isHere = (address: string, ownAddresses: readonly string[]): boolean =>
  LOOPBACK.test(address) || ownAddresses.includes(address);
