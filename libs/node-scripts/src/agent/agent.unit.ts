import { AGENT_PATHS } from '@fairlead/contracts';

export interface AgentUnitOptions {
  /** The Node runtime on the host. */
  readonly nodeBinary: string;
}

/**
 * The systemd unit of the node agent. It changes packages, files and units of its host, so it runs as root. A restart of the
 * agent leaves a package installation that it has begun alone (KillMode=process): a killed dpkg needs a person.
 */
export const agentUnit = ({ nodeBinary }: AgentUnitOptions): string => `[Unit]
Description=Fairlead node agent
Wants=network-online.target
After=network-online.target
StartLimitIntervalSec=0

[Service]
Type=simple
ExecStart=${nodeBinary} ${AGENT_PATHS.program}
Restart=always
RestartSec=2
KillMode=process
TimeoutStopSec=60

[Install]
WantedBy=multi-user.target
`;
