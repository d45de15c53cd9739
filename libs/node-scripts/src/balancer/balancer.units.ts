import { ADDRESSES, BALANCER } from './balancer.paths.js';

/**
 * Folder in /run that separates these from a keepalived or haproxy of the host itself; prefixes separate ours from each
 * other.
 */
const RUN = '/run/fairlead';

interface BalancerUnit {
  readonly description: string;
  readonly config: string;
  /** Prefix of its files in /run. */
  readonly prefix: string;
}

const haproxy = ({ description, config, prefix }: BalancerUnit): string => `[Unit]
Description=${description} (Fairlead)
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
RuntimeDirectory=fairlead
RuntimeDirectoryPreserve=yes
ExecStartPre=/usr/sbin/haproxy -c -q -f ${config}
ExecStart=/usr/sbin/haproxy -Ws -f ${config} -p ${RUN}/${prefix}haproxy.pid
ExecReload=/usr/sbin/haproxy -c -q -f ${config}
ExecReload=/bin/kill -USR2 $MAINPID
KillMode=mixed
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
`;

const keepalived = ({ description, config, prefix }: BalancerUnit, after: string): string => `[Unit]
Description=${description} (Fairlead)
After=network-online.target ${after}
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Type=simple
RuntimeDirectory=fairlead
RuntimeDirectoryPreserve=yes
ExecStart=/usr/sbin/keepalived --dont-fork --log-console --vrrp --use-file ${config} --pid ${RUN}/${prefix}keepalived.pid --vrrp_pid ${RUN}/${prefix}vrrp.pid
ExecReload=/bin/kill -HUP $MAINPID
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
`;

export const haproxyUnit = haproxy({
  description: 'Balances the Kubernetes API over its control planes',
  config: BALANCER.haproxy,
  prefix: '',
});

export const keepalivedUnit = keepalived(
  {
    description: 'Holds the address of the Kubernetes API on one control plane',
    config: BALANCER.keepalived,
    prefix: '',
  },
  BALANCER.units[1],
);

export const addressesHaproxyUnit = haproxy({
  description: 'Balances virtual addresses over nodes',
  config: ADDRESSES.haproxy,
  prefix: 'addresses-',
});

export const addressesKeepalivedUnit = keepalived(
  { description: 'Holds virtual addresses for services', config: ADDRESSES.keepalived, prefix: 'addresses-' },
  ADDRESSES.units[1],
);
