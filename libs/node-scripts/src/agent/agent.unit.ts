import { AGENT_PATHS } from '@fairlead/contracts';

export const AGENT_UNIT = 'fairlead-agent.service';

/** A new agent that was started this often without reporting success is rolled back. */
const AGENT_TRIES_MAX = 3;

/**
 * The agent does little, and runs for years: memory matters more than speed. The young generation gets 1 MiB instead of
 * 16, so that the heap needed to prepare a host is not retained.
 */
const NODE_OPTIONS = ['--max-semi-space-size=1', '--optimize-for-size'] as const;

/**
 * The systemd unit of the node agent. It changes packages, files, units and settings of its host, so it runs as root
 * with full access; only unneeded privileges are dropped. A restart of the agent does not kill a package installation
 * in progress (KillMode=process): a killed dpkg needs manual repair. It is restarted forever, since nothing else
 * repairs the host, but with backoff on systemd 254 or later.
 */
export const agentUnit = (): string => `[Unit]
Description=Fairlead node agent
After=network.target
StartLimitIntervalSec=0

[Service]
Type=simple
# A mirror of one's own is vouched for by an authority of one's own: whom the host trusts, its agent does, too.
Environment=NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
# Each thread that allocates would otherwise get an area of its own.
Environment=MALLOC_ARENA_MAX=1
ExecStartPre=-/bin/sh ${AGENT_PATHS.guard}
ExecStart=${AGENT_PATHS.node} ${NODE_OPTIONS.join(' ')} ${AGENT_PATHS.program}
Restart=always
RestartSec=2
RestartSteps=8
RestartMaxDelaySec=60
KillMode=process
TimeoutStopSec=60
SyslogIdentifier=fairlead-agent
OOMScoreAdjust=-500
TasksMax=1024
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native

[Install]
WantedBy=multi-user.target
`;

/**
 * Counts the starts of an agent on trial, and restores the previous one after too many. Survives crashes and reboots.
 */
export const agentGuard = (): string => `#!/bin/sh
# Runs before each start of the Fairlead agent.
root="\${FAIRLEAD_ROOT:-}"
trial="$root${AGENT_PATHS.trial}"
[ -e "$trial" ] || exit 0
tries=$(cat "$trial")
case $tries in '' | *[!0-9]*) tries=0 ;; esac
if [ "$tries" -lt ${AGENT_TRIES_MAX} ]; then
  echo $((tries + 1)) >"$trial"
  exit 0
fi
echo 'the new agent was started ${AGENT_TRIES_MAX} times and never worked: the one before is put back'
if [ -e "$root${AGENT_PATHS.previousConfig}" ]; then
  mv -f "$root${AGENT_PATHS.previousConfig}" "$root${AGENT_PATHS.config}"
fi
mv -f "$root${AGENT_PATHS.previousProgram}" "$root${AGENT_PATHS.program}"
rm -f "$trial"
`;
