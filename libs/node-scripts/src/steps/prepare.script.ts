import { AGENT_PATHS, type AgentConfig } from '@fairlead/contracts';
import { agentUnit } from '../agent/agent.unit.js';
import { hostPath, quote } from '../shell/quote.js';
import { script, writeFile, type HostScript } from '../shell/script.js';

export interface PrepareInput {
  readonly agent: { readonly sha256: string; readonly version: string };
  readonly config: AgentConfig;
  /** The text of the node's NATS credentials file; null where the server asks for none. */
  readonly credentials: string | null;
  /** The Node runtime on the host. */
  readonly nodeBinary: string;
}

/** `agent: missing` asks for the bundle to be put at AGENT_PATHS.program; the step is then run again. */
export interface PrepareResult {
  readonly agent: 'started' | 'missing';
}

const unitName = 'fairlead-agent.service';

/**
 * Puts the agent's configuration, credentials and unit on the host and starts it, if the bundle with this checksum is there.
 * A running agent is restarted only when something of it has changed.
 */
export const prepareScript = ({ agent, config, credentials, nodeBinary }: PrepareInput): HostScript =>
  script(
    { step: 'prepare', limitSeconds: 120, lockSeconds: 60 },
    `
program=${hostPath(AGENT_PATHS.program)}
mkdir -p "$(dirname "$program")"
found=$(sha256sum "$program" 2>/dev/null | cut -d ' ' -f 1 || true)
if [ "$found" != ${quote(agent.sha256)} ]; then
  rm -f "$program"
  result '{"agent":"missing"}'
  exit 0
fi

node=${quote(nodeBinary)}
[ -x "$node" ] || [ -x "$root$node" ] || command -v "$node" >/dev/null 2>&1 ||
  fail "the agent needs a Node runtime, and there is none at $node"

${writeFile(AGENT_PATHS.config, '600', `${JSON.stringify(config, null, 2)}\n`)}
${credentials === null ? `rm -f ${hostPath(AGENT_PATHS.credentials)}` : writeFile(AGENT_PATHS.credentials, '600', credentials)}
${writeFile(AGENT_PATHS.unit, '644', agentUnit({ nodeBinary }))}

# What the running agent was started with; credentials are new each time and alone no reason for a restart.
identity=$(cat "$program" ${hostPath(AGENT_PATHS.config)} ${hostPath(AGENT_PATHS.unit)} | sha256sum | cut -d ' ' -f 1)
started="$root/var/lib/fairlead/agent.started"
if [ "$(cat "$started" 2>/dev/null || true)" != "$identity" ] || ! systemctl is-active --quiet ${unitName}; then
  run systemctl daemon-reload
  run systemctl enable ${unitName}
  run systemctl restart ${unitName}
  printf '%s' "$identity" >"$started"
fi
result '{"agent":"started"}'
`,
  );
