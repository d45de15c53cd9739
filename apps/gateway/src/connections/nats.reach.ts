import { refuse, SshSettings, type Refusal } from '@fairlead/contracts';

export interface Reach {
  /** Where agents are configured to find NATS; undefined: that is not known here. */
  readonly agentNatsUrls: readonly string[] | undefined;
  /** Of this machine. */
  readonly ownAddresses: readonly string[];
}

/** Own hosts that are other machines cannot reach a NATS that listens on loopback: their agents would never connect. */
export const unreachableNats = (
  connection: string,
  settings: Readonly<Record<string, unknown>>,
  { agentNatsUrls, ownAddresses }: Reach,
): readonly Refusal[] => {
  const parsed = SshSettings.safeParse(settings);
  if (agentNatsUrls === undefined || !parsed.success || !agentNatsUrls.every(isLoopback)) return [];
  const at = parsed.data.hosts.findIndex(({ address }) => !isHere(address, ownAddresses));
  const remote = parsed.data.hosts[at];
  if (remote === undefined) return [];
  const values = { connection, host: remote.name, address: remote.address, urls: agentNatsUrls.join(', ') };
  return [refuse('connection.nats-unreachable', values, `settings.hosts[${at}].address`)];
};

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[?::1\]?)$/;

const isLoopback = (url: string): boolean => URL.canParse(url) && LOOPBACK.test(hostOf(url));

const hostOf = (url: string): string => new URL(url.replace(/^(nats|tls):/, 'http:')).hostname;

const isHere = (address: string, ownAddresses: readonly string[]): boolean =>
  LOOPBACK.test(address) || ownAddresses.includes(address);
