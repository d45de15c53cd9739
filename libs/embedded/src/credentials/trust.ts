import { checkServerIdentity, type PeerCertificate } from 'node:tls';

/** The TLS options of a NATS client. */
export interface NatsTrust {
  readonly ca: string;
  readonly checkServerIdentity: (name: string, certificate: PeerCertificate) => Error | undefined;
}

/** The addresses of the servers of a cluster, which stand in one text, separated by commas. */
export const natsServers = (text: string): readonly string[] => text.split(',').map((url) => url.trim());

/**
 * The client option `tls` for servers whose certificates that authority (PEM) signs; without one there is none, and the system's
 * authorities count if a server asks for TLS. Such a client refuses a server without TLS. The client library reads `ca` at each
 * connect, so a rotated authority counts from the next one on.
 *
 * The client library calls a server that is addressed by its IP address "localhost" (it may not be sent as a server name), so the
 * certificate is held against the hosts that we meant to reach.
 */
export const natsTrust = (
  authority: (() => string) | undefined,
  urls: readonly string[],
): { readonly tls?: NatsTrust } => {
  if (authority === undefined) return {};
  const hosts = urls.map((url) => new URL(url.includes('://') ? url : `nats://${url}`).hostname);
  return {
    tls: {
      get ca() {
        return authority();
      },
      checkServerIdentity: (name, certificate) => {
        const faults = [...hosts, name].map((host) => checkServerIdentity(host, certificate));
        return faults.includes(undefined) ? undefined : faults[0];
      },
    },
  };
};
