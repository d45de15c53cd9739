import { EXTERNAL_ETCD } from '@fairlead/contracts';

/** Files named in kubeadm's configuration. */
export const ETCD_CLIENT = {
  caFile: `${EXTERNAL_ETCD.client}/ca.crt`,
  certFile: `${EXTERNAL_ETCD.client}/apiserver-etcd-client.crt`,
  keyFile: `${EXTERNAL_ETCD.client}/apiserver-etcd-client.key`,
} as const;

/** The URL at which every API server connects to the member on its own control plane. */
export const LOCAL_ETCD = 'https://127.0.0.1:2379';

/** An etcd member, and the control plane on which it runs. */
export interface EtcdPeer {
  readonly name: string;
  readonly address: string;
}

const url = (address: string, port: number): string =>
  `https://${address.includes(':') ? `[${address}]` : address}:${port}`;

export const clientUrlOf = ({ address }: EtcdPeer): string => url(address, 2379);
export const peerUrlOf = ({ address }: EtcdPeer): string => url(address, 2380);

/** The member with that peer URL. */
export const peerOfUrl = ({ name, peerUrl }: { readonly name: string; readonly peerUrl: string }): EtcdPeer => ({
  name,
  address: peerUrl
    .replace(/^https:\/\//, '')
    .replace(/:2380$/, '')
    .replace(/^\[(.*)\]$/, '$1'),
});
