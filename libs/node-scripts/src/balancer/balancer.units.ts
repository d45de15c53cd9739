import { BALANCER } from './balancer.paths.js';

/** Files in /run that keep a keepalived or haproxy of the host's own apart from ours. */
const RUN = '/run/fairlead';

export const haproxyUnit = `[Unit]
Description=Balances the Kubernetes API over its control planes (Fairlead)
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Type=notify
RuntimeDirectory=fairlead
RuntimeDirectoryPreserve=yes
ExecStartPre=/usr/sbin/haproxy -c -q -f ${BALANCER.haproxy}
ExecStart=/usr/sbin/haproxy -Ws -f ${BALANCER.haproxy} -p ${RUN}/haproxy.pid
ExecReload=/usr/sbin/haproxy -c -q -f ${BALANCER.haproxy}
ExecReload=/bin/kill -USR2 $MAINPID
KillMode=mixed
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
`;

export const keepalivedUnit = `[Unit]
Description=Holds the address of the Kubernetes API on one control plane (Fairlead)
After=network-online.target fairlead-haproxy.service
Wants=network-online.target
StartLimitIntervalSec=0

[Service]
Type=simple
RuntimeDirectory=fairlead
RuntimeDirectoryPreserve=yes
ExecStart=/usr/sbin/keepalived --dont-fork --log-console --vrrp --use-file ${BALANCER.keepalived} --pid ${RUN}/keepalived.pid --vrrp_pid ${RUN}/vrrp.pid
ExecReload=/bin/kill -HUP $MAINPID
Restart=always
RestartSec=1

[Install]
WantedBy=multi-user.target
`;
