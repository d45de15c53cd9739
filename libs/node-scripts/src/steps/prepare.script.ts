import { AGENT_PATHS, NETWORK_PATHS, SSH_CLIENTS_MAX, type AgentConfig } from '@fairlead/contracts';
import { AGENT_UNIT, agentGuard, agentUnit } from '../agent/agent.unit.js';
import { hostPath, quote } from '../shell/quote.js';
import { script, writeFile, type HostScript } from '../shell/script.js';
import { rememberHost } from './host-before.parts.js';

/** A Node runtime that can be uploaded to a host without one. */
export interface OwnRuntime {
  readonly sha256: string;
  /** The output of `uname -m` on machines that can run it. */
  readonly machine: string;
  /** `v20.20.2` */
  readonly version: string;
}

export interface PrepareInput {
  readonly agent: { readonly sha256: string; readonly version: string };
  readonly config: AgentConfig;
  /** The text of the node's NATS credentials file; null if the server requires none. */
  readonly credentials: string | null;
  /** Path of the host's own Node runtime, if any. */
  readonly nodeBinary: string;
  /** The bundle with the host's software; null: installed from another source. */
  readonly bundle: { readonly sha256: string } | null;
  /** The runtime to upload to a host without one; null: that is an error. */
  readonly ownNode: OwnRuntime | null;
  /** Restarts a running agent even if only its credentials have changed. */
  readonly restart?: boolean;
}

/**
 * `agent: missing` requests an upload of the bundle to AGENT_PATHS.nextProgram, `node: missing` one of the runtime,
 * gzipped, to AGENT_PATHS.nodeArchive, `bundle: missing` one of the bundle to AGENT_PATHS.bundle; the step is then run
 * again.
 */
export interface PrepareResult {
  readonly agent: 'started' | 'missing';
  readonly node: 'present' | 'missing';
  readonly bundle: 'present' | 'missing';
}

/** The build target of the bundle (apps/node-agent/bundle.mjs). */
const NODE_MAJOR_MIN = 20;
const TRIAL_SECONDS = 100;
/**
 * Together with the following check less than a minute: an unreachable NATS is reported while someone is still
 * watching.
 */
const CONNECT_SECONDS = 30;
const CHECK_SECONDS = 20;

const major = `
# Prints the major version of a Node runtime; nothing where it does not run.
node_major() {
  "$1" --version 2>/dev/null | sed -n 's/^v\\([0-9]*\\)\\..*/\\1/p'
}`;

const findNode = (binary: string): string => `
# A host's own runtime first: its owner keeps it up to date.
node=''
for place in ${hostPath(binary)} ${quote(binary)}; do
  if [ -z "$node" ] && [ -x "$place" ]; then
    found=$(node_major "$place")
    if [ -n "$found" ] && [ "$found" -ge ${NODE_MAJOR_MIN} ]; then node=${quote(binary)}; fi
  fi
done`;

const takeOwn = ({ sha256, machine, version }: OwnRuntime): string => `
own=${hostPath(AGENT_PATHS.node)}
archive=${hostPath(AGENT_PATHS.nodeArchive)}
node_missing=''
if [ -z "$node" ]; then
  [ "$(uname -m)" = ${quote(machine)} ] ||
    fail "this host has no Node ${NODE_MAJOR_MIN} or newer, and the one of bootstrap-svc is for ${machine}, not for $(uname -m): install Node.js on the host"
  if [ -e "$archive" ]; then
    gzip -dc "$archive" >"$own.new" || fail 'the Node runtime could not be unpacked'
    chmod 755 "$own.new"
    mv -f "$own.new" "$own"
    rm -f "$archive"
  fi
  if [ ! -L "$own" ] && [ "$(sum "$own")" = ${quote(sha256)} ]; then
    said=$("$own" --version 2>&1 || true)
    [ "$said" = ${quote(version)} ] ||
      fail "the Node runtime of bootstrap-svc does not run on this host (another C library?): $said"
    node=${quote(AGENT_PATHS.node)}
  else
    node_missing=1
  fi
fi`;

const noOwn = (binary: string): string => `
node_missing=''
[ -n "$node" ] || fail ${quote(`the agent needs Node ${NODE_MAJOR_MIN} or newer, and there is none at ${binary}`)}`;

const takeBundle = (bundle: PrepareInput['bundle']): string =>
  bundle === null
    ? `bundle_missing=''`
    : `
mirror=${hostPath(AGENT_PATHS.mirror)}
bundle=${hostPath(AGENT_PATHS.bundle)}
bundle_missing=''
if [ "$(cat "$mirror/.bundle" 2>/dev/null || true)" != ${quote(bundle.sha256)} ]; then
  if [ "$(sum "$bundle")" = ${quote(bundle.sha256)} ]; then
    rm -rf "$mirror.new"
    mkdir -p "$mirror.new"
    run tar -xzf "$bundle" -C "$mirror.new" --no-same-owner
    sync
    printf '%s' ${quote(bundle.sha256)} >"$mirror.new/.bundle"
    rm -rf "$mirror"
    mv "$mirror.new" "$mirror"
    rm -f "$bundle"
  else
    bundle_missing=1
  fi
fi`;

/**
 * Records the address from which Fairlead connects, for the host's firewall. sudo hides the variable from its children,
 * but keeps it in its own environment.
 */
const REMEMBER_CLIENT = `
clients=${hostPath(NETWORK_PATHS.sshClients)}
pid=$$
client=''
while [ -z "$root$client" ] && [ "\${pid:-0}" -gt 1 ]; do
  client=$(tr '\\000' '\\n' <"$root/proc/$pid/environ" 2>/dev/null | sed -n 's/^SSH_CONNECTION=\\([0-9a-fA-F.:]*\\) .*/\\1/p' | head -n 1)
  pid=$(sed -n 's/^PPid:[[:space:]]*//p' "$root/proc/$pid/status" 2>/dev/null || true)
done
if [ -n "$client" ] && [ "$(tail -n 1 "$clients" 2>/dev/null || true)" != "$client" ]; then
  others=$(grep -vxF "$client" "$clients" 2>/dev/null | tail -n ${SSH_CLIENTS_MAX - 1} || true)
  # shellcheck disable=SC2086 # Each address is an argument.
  printf '%s\\n' $others "$client" >"$clients.new"
  mv -f "$clients.new" "$clients"
fi`;

const takeAgent = (sha256: string): string => `
program=${hostPath(AGENT_PATHS.program)}
next=${hostPath(AGENT_PATHS.nextProgram)}
started="$root/var/lib/fairlead/agent.started"
trial=${hostPath(AGENT_PATHS.trial)}
agent_missing=''
is_new=''
if [ "$(sum "$program")" != ${sha256} ]; then
  is_new=1
  [ "$(sum "$next")" = ${sha256} ] || agent_missing=1
fi
if [ -n "$agent_missing$node_missing$bundle_missing" ]; then
  word() {
    if [ -n "$1" ]; then echo missing; else echo present; fi
  }
  result "{\\"agent\\":\\"missing\\",\\"node\\":\\"$(word "$node_missing")\\",\\"bundle\\":\\"$(word "$bundle_missing")\\"}"
  exit 0
fi`;

const replaceAgent = `
# The one that runs is kept, and put back by the guard if the new one does not come up.
if [ -n "$is_new" ]; then
  if [ -e "$program" ] && [ -e "$started" ]; then
    ln -f "$program" ${hostPath(AGENT_PATHS.previousProgram)}
    cp -f ${hostPath(AGENT_PATHS.config)} ${hostPath(AGENT_PATHS.previousConfig)}
    echo 0 >"$trial"
  fi
  mv -f "$next" "$program"
fi`;

const startAgent = ({ agent: { sha256 }, restart = false }: PrepareInput): string => `
# What the running agent was started with; credentials are new each time and ${restart ? 'this time a' : 'alone no'} reason for a restart.${restart ? '\nrm -f "$started"' : ''}
identity=$(cat "$program" ${hostPath(AGENT_PATHS.config)} ${hostPath(AGENT_PATHS.unit)} | sha256sum | cut -d ' ' -f 1)
connected=${hostPath(AGENT_PATHS.connected)}
is_restarted=''
if [ "$(cat "$started" 2>/dev/null || true)" != "$identity" ] || ! systemctl is-active --quiet ${AGENT_UNIT}; then
  is_restarted=1
  rm -f "$connected"
  run systemctl daemon-reload
  run systemctl enable ${AGENT_UNIT}
  run systemctl restart ${AGENT_UNIT}
  printf '%s' "$identity" >"$started"
fi

waited=0
while [ -e "$trial" ] && [ "$waited" -lt ${TRIAL_SECONDS} ]; do
  sleep 1
  waited=$((waited + 1))
done
[ ! -e "$trial" ] || fail 'the new agent has not said within ${TRIAL_SECONDS} seconds that it works'
if [ "$(sum "$program")" != ${sha256} ]; then
  rm -f "$started"
  fail 'the new agent did not come up, and the one before was put back'
fi

# A tenth of a second each.
waited=0
while [ -n "$is_restarted" ] && [ ! -e "$connected" ] && [ "$waited" -lt ${CONNECT_SECONDS * 10} ]; do
  sleep 0.1
  waited=$((waited + 1))
done
if [ -n "$is_restarted" ] && [ ! -e "$connected" ]; then
  rm -f "$started"
  words=$(timeout ${CHECK_SECONDS} ${hostPath(AGENT_PATHS.node)} "$program" --check --config ${hostPath(AGENT_PATHS.config)} 2>/dev/null | tail -n 1 || true)
  fail "the agent has not reached NATS within ${CONNECT_SECONDS} seconds: \${words:-it runs, and says nothing; see journalctl -u ${AGENT_UNIT}}"
fi
result '{"agent":"started","node":"present","bundle":"present"}'`;

/** One machine is one node: a second agent would replace the first, and its node would disappear silently. */
const otherNode = ({ uid, node }: AgentConfig): string =>
  `
if [ -e ${hostPath(AGENT_PATHS.config)} ]; then
  said() { awk -F '"' -v key="$1" '$2 == key { print $4; exit }' ${hostPath(AGENT_PATHS.config)}; }
  if [ "$(said uid)" != ${quote(uid)} ] || [ "$(said node)" != ${quote(node)} ]; then
    fail "this host has the agent of another node, $(said node) of the cluster $(said namespace)/$(said cluster): one machine is one node. Remove that node, or reset the host (rm -r /etc/fairlead after systemctl disable --now fairlead-agent)"
  fi
fi`.trim();

/**
 * Installs the agent, its configuration, credentials and unit on the host and starts it, if the bundle with this
 * checksum and a Node runtime are there. A running agent is restarted only if something changed; a new bundle
 * permanently replaces a working one only after it has reported success.
 */
export const prepareScript = (input: PrepareInput): HostScript => {
  const { agent, config, credentials, nodeBinary, ownNode, bundle } = input;
  return script(
    { step: 'prepare', limitSeconds: 300, lockSeconds: 60 },
    `
sum() {
  sha256sum "$1" 2>/dev/null | cut -d ' ' -f 1
}
${major}
${otherNode(config)}
${rememberHost.trim()}
mkdir -p "$root/opt/fairlead"
${findNode(nodeBinary)}
${ownNode === null ? noOwn(nodeBinary) : takeOwn(ownNode)}
${takeBundle(bundle)}
${takeAgent(agent.sha256)}

[ "$node" = ${AGENT_PATHS.node} ] || ln -sfn "$node" ${hostPath(AGENT_PATHS.node)}
${replaceAgent}
${REMEMBER_CLIENT}
${writeFile(AGENT_PATHS.config, '600', `${JSON.stringify(config, null, 2)}\n`)}
${credentials === null ? `rm -f ${hostPath(AGENT_PATHS.credentials)}` : writeFile(AGENT_PATHS.credentials, '600', credentials)}
${writeFile(AGENT_PATHS.guard, '755', agentGuard())}
${writeFile(AGENT_PATHS.unit, '644', agentUnit())}
${startAgent(input)}
`,
  );
};
