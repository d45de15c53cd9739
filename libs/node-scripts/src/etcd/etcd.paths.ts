import { EXTERNAL_ETCD } from '@fairlead/contracts';

/** As kubeadm's configuration names them. */
export const ETCD_CLIENT = {
  caFile: `${EXTERNAL_ETCD.client}/ca.crt`,
  certFile: `${EXTERNAL_ETCD.client}/apiserver-etcd-client.crt`,
  keyFile: `${EXTERNAL_ETCD.client}/apiserver-etcd-client.key`,
} as const;

/** What the API server beside a member reaches it by, on every control plane. */
export const LOCAL_ETCD = 'https://127.0.0.1:2379';

/** A member, and so the control plane that it runs beside. */
export interface EtcdPeer {
  readonly name: string;
  readonly address: string;
}

const url = (address: string, port: number): string =>
  `https://${address.includes(':') ? `[${address}]` : address}:${port}`;

export const clientUrlOf = ({ address }: EtcdPeer): string => url(address, 2379);
export const peerUrlOf = ({ address }: EtcdPeer): string => url(address, 2380);

/** The member at that peer URL. */
export const peerOfUrl = ({ name, peerUrl }: { readonly name: string; readonly peerUrl: string }): EtcdPeer => ({
  name,
  address: peerUrl
    .replace(/^https:\/\//, '')
    .replace(/:2380$/, '')
    .replace(/^\[(.*)\]$/, '$1'),
});
