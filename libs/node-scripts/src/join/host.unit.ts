import { AGENT_PATHS, HOST_CHANNEL_PATHS } from '@fairlead/contracts';

export const HOST_UNIT = 'fairlead-host.service';

/**
 * The unit of the channel of a host that joined by itself. Steps run in it like in a login of root, so it keeps all
 * privileges; a restart of the agent does not affect it.
 */
export const hostUnit = (): string => `[Unit]
Description=Fairlead channel of this host
After=network-online.target
Wants=network-online.target
StartLimitIntervalSec=0
ConditionPathExists=${HOST_CHANNEL_PATHS.config}

[Service]
Type=simple
Environment=NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
ExecStart=${AGENT_PATHS.node} ${HOST_CHANNEL_PATHS.program} --host
Restart=on-failure
RestartSec=2
KillMode=process
TimeoutStopSec=10
SyslogIdentifier=fairlead-host

[Install]
WantedBy=multi-user.target
`;
