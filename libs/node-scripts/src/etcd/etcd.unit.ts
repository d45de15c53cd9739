import { EXTERNAL_ETCD, etcdCheckFlags } from '@fairlead/contracts';
import { clientUrlOf, peerUrlOf, type EtcdPeer } from './etcd.paths.js';

export interface EtcdUnit {
  /** Members accept only members with the same token. */
  readonly token: string;
  /** `3.6.5` */
  readonly version: string;
  readonly self: EtcdPeer;
  /** All that the etcd begins with, or has when this one joins it; itself as well. */
  readonly members: readonly EtcdPeer[];
  /** It joins an etcd that is there. A member that has data already looks at neither. */
  readonly joins: boolean;
}

const flags = ({ token, version, self, members, joins }: EtcdUnit): readonly string[] => {
  const { pki, data } = EXTERNAL_ETCD;
  return [
    `--name=${self.name}`,
    `--data-dir=${data}`,
    `--initial-cluster=${members.map((member) => `${member.name}=${peerUrlOf(member)}`).join(',')}`,
    `--initial-cluster-token=${token}`,
    `--initial-cluster-state=${joins ? 'existing' : 'new'}`,
    `--initial-advertise-peer-urls=${peerUrlOf(self)}`,
    `--listen-peer-urls=${peerUrlOf(self)}`,
    `--advertise-client-urls=${clientUrlOf(self)}`,
    `--listen-client-urls=https://127.0.0.1:2379,${clientUrlOf(self)}`,
    '--listen-metrics-urls=http://127.0.0.1:2381',
    '--client-cert-auth=true',
    `--trusted-ca-file=${pki}/ca.crt`,
    `--cert-file=${pki}/server.crt`,
    `--key-file=${pki}/server.key`,
    '--peer-client-cert-auth=true',
    `--peer-trusted-ca-file=${pki}/ca.crt`,
    `--peer-cert-file=${pki}/peer.crt`,
    `--peer-key-file=${pki}/peer.key`,
    '--snapshot-count=10000',
    ...etcdCheckFlags(version),
  ];
};

/** It says that it is ready only once a majority is there, so nothing but systemd's patience may end its start. */
export const etcdUnit = (unit: EtcdUnit): string => `[Unit]
Description=A member of the etcd of a Kubernetes cluster (Fairlead)
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
ExecStart=${EXTERNAL_ETCD.programs}/etcd \\
  ${flags(unit).join(' \\\n  ')}
Restart=always
RestartSec=1
TimeoutStartSec=infinity
LimitNOFILE=65536

[Install]
WantedBy=multi-user.target
`;
