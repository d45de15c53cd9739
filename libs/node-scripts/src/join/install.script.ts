import { AGENT_PATHS, HOST_CHANNEL_PATHS } from '@fairlead/contracts';
import { hostPath, quote } from '../shell/quote.js';
import { HOST_UNIT, hostUnit } from './host.unit.js';

/** Downloads of a host that joins by itself, by checksum. */
export interface InstallInput {
  readonly agentSha256: string;
  /** For hosts without a Node runtime; `sha256` is that of the archive, `machine` is the output of `uname -m`. */
  readonly runtime: { readonly sha256: string; readonly machine: string };
}

/** The build target of the agent (apps/node-agent/bundle.mjs). */
const NODE_MAJOR_MIN = 20;

const usage = 'usage: install.sh --server <url> --cluster <namespace>/<name> [--ca <certificates, PEM in base64>]';

const ARGUMENTS = `#!/bin/sh
# Makes this host a node of a cluster of Fairlead. It needs root, and no connection from outside.
set -eu
umask 077
export LC_ALL=C
root="\${FAIRLEAD_ROOT:-}"
fail() {
  echo "fairlead: $*" >&2
  exit 1
}
server='' cluster='' ca=''
while [ $# -gt 0 ]; do
  case "$1" in
    --server) server="\${2:-}" ;;
    --cluster) cluster="\${2:-}" ;;
    --ca) ca="\${2:-}" ;;
    *) fail ${quote(usage)} ;;
  esac
  [ $# -ge 2 ] || fail ${quote(usage)}
  shift 2
done
if [ -z "$server" ] || [ -z "$cluster" ]; then fail ${quote(usage)}; fi
[ -n "\${FAIRLEAD_JOIN_TOKEN:-}" ] || fail 'FAIRLEAD_JOIN_TOKEN is not set'
[ -n "$root" ] || [ "$(id -u)" = 0 ] || fail 'run it as root'
for program in sha256sum gzip base64; do
  command -v "$program" >/dev/null || fail "$program is missing"
done
[ ! -e ${hostPath('/etc/kubernetes/kubelet.conf')} ] ||
  [ -e ${hostPath(HOST_CHANNEL_PATHS.config)} ] ||
  fail 'this host is a node of a cluster already: reset it with kubeadm reset first'

`;

const DOWNLOADS = `work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
authority="$work/ca.pem"
[ -z "$ca" ] || printf '%s' "$ca" | base64 -d >"$authority" || fail '--ca is not base64'

download() {
  if command -v curl >/dev/null; then
    if [ -n "$ca" ]; then set -- "$@" --cacert "$authority"; fi
    from="$1" to="$2"
    shift 2
    curl -fsSL --retry 5 --retry-connrefused --connect-timeout 20 --max-time 900 -o "$to" "$@" "$server$from"
  elif command -v wget >/dev/null; then
    if [ -n "$ca" ]; then set -- "$@" "--ca-certificate=$authority"; fi
    from="$1" to="$2"
    shift 2
    wget -q -T 60 -t 5 -O "$to" "$@" "$server$from"
  else
    fail 'neither curl nor wget is there'
  fi
}
verified() {
  printf '%s  %s\\n' "$1" "$2" | sha256sum -c --status - || fail "$2 is not what was announced: something between this host and $server changes files"
}

`;

/** Prefers the host's own runtime, which its owner keeps up to date. */
const findNode = (
  runtime: InstallInput['runtime'],
): string => `mkdir -p "$root/opt/fairlead" "$root/etc/fairlead" "$root/var/lib/fairlead" "$root/etc/systemd/system"
chmod 755 "$root/opt/fairlead"
node=''
for place in $(command -v node || true) /usr/bin/node /usr/local/bin/node ${hostPath(AGENT_PATHS.node)}; do
  [ -z "$node" ] && [ -x "$place" ] || continue
  major=$("$place" --version 2>/dev/null | sed -n 's/^v\\([0-9]*\\)\\..*/\\1/p')
  if [ -n "$major" ] && [ "$major" -ge ${NODE_MAJOR_MIN} ]; then node="$place"; fi
done
own=${hostPath(AGENT_PATHS.node)}
if [ -z "$node" ]; then
  [ "$(uname -m)" = ${quote(runtime.machine)} ] ||
    fail "this host has no Node ${NODE_MAJOR_MIN} or newer, and the one of $server is for ${runtime.machine}: install Node.js"
  download /join/node.gz "$work/node.gz"
  verified ${runtime.sha256} "$work/node.gz"
  gzip -dc "$work/node.gz" >"$own.new"
  chmod 755 "$own.new"
  mv -f "$own.new" "$own"
  node="$own"
elif [ "$node" != "$own" ]; then
  ln -sfn "$node" "$own"
fi

`;

const installAgent = (agentSha256: string): string => `program=${hostPath(HOST_CHANNEL_PATHS.program)}
download /join/agent.mjs "$program.new"
verified ${agentSha256} "$program.new"
chmod 644 "$program.new"
mv -f "$program.new" "$program"

if [ -n "$ca" ]; then export NODE_EXTRA_CA_CERTS="$authority"; fi
"$node" "$program" --join --server "$server" --cluster "$cluster"
unset FAIRLEAD_JOIN_TOKEN

umask 022
cat >${hostPath(HOST_CHANNEL_PATHS.unit)} <<'FAIRLEAD-UNIT'
${hostUnit()}FAIRLEAD-UNIT
systemctl daemon-reload
systemctl enable ${HOST_UNIT}
systemctl restart ${HOST_UNIT}
echo 'fairlead: this host is connected. Everything else is done by Fairlead; see: fairlead node list'
`;

/**
 * Makes a host join by itself: it downloads the agent and, if needed, a Node runtime, both verified by checksum,
 * requests admission through the agent, and starts the channel through which Fairlead does the rest. The join token is
 * read from the environment, so that other users of the host do not see it among the arguments of a process.
 * Idempotent.
 */
export const installScript = ({ agentSha256, runtime }: InstallInput): string =>
  [ARGUMENTS, DOWNLOADS, findNode(runtime), installAgent(agentSha256)].join('');
