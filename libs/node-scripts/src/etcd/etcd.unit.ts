import { EXTERNAL_ETCD, etcdCheckFlags } from '@fairlead/contracts';
import { clientUrlOf, peerUrlOf, type EtcdPeer } from './etcd.paths.js';

export interface EtcdUnit {
  /** Members only accept members with the same token. */
  readonly token: string;
  /** `3.6.5` */
  readonly version: string;
  readonly self: EtcdPeer;
  /** All members of the new etcd, or of the existing one that this member joins; including itself. */
  readonly members: readonly EtcdPeer[];
  /** It joins an existing etcd. A member that already has data ignores both fields. */
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

/** etcd reports readiness only once a majority is running, so systemd must not time out its start. */
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
