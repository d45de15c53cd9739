import { checkServerIdentity, type PeerCertificate } from 'node:tls';

/** The TLS options of a NATS client. */
export interface NatsTrust {
  readonly ca: string;
  readonly checkServerIdentity: (name: string, certificate: PeerCertificate) => Error | undefined;
}

/** The server addresses of a cluster, from a text separated by commas. */
export const natsServers = (text: string): readonly string[] => text.split(',').map((url) => url.trim());

/**
 * The client option `tls` for servers whose certificates are signed by that CA (PEM); without one there is none, and
 * the system's CAs apply if a server requires TLS. Such a client rejects a server without TLS. The client library reads
 * `ca` at each connect, so a rotated CA applies from the next one on. The library names a server that is addressed by
 * IP address "localhost" (an IP address may not be sent as a server name), so the certificate is verified against the
 * configured hosts.
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
