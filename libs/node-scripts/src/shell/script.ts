import { quote } from './quote.js';

/** The steps that Fairlead runs on a host; a step's name is also the prefix of its file's name there. */
export const STEPS = [
  'prepare',
  'verify',
  'kubeadm-init',
  'credentials',
  'kubeadm-join-control-plane',
  'kubeadm-join-worker',
  'etcd-remove-member',
  'kubeadm-reset',
  'look',
  'check-ports',
  'balance-api',
  'publish-api',
  'read-kubeconfig',
  'etcd-member',
  'etcd-health',
  'etcd-add-member',
  'etcd-promote-member',
  'etcdctl',
  'remove-snapshot',
  'prepare-verification',
  'verify-snapshot',
  'authorized-keys',
  'authentication',
  'node-exec',
  'node-log',
] as const;
export type StepName = (typeof STEPS)[number];

export interface ScriptOptions {
  readonly step: StepName;
  /** The host itself ends the step after this time, even if the connection is lost. */
  readonly limitSeconds: number;
  /**
   * How long the step waits for another one that is still running on the host; null: it changes nothing, and does not
   * wait.
   */
  readonly lockSeconds: number | null;
}

/** Steps that make changes never overlap on a host. */
const lock = (
  lockSeconds: number,
): string => `# Steps of one host never overlap: flock where there is one, else a directory that names its holder.
if command -v flock >/dev/null 2>&1; then
  exec 9>"$root/run/fairlead/step.lock"
  flock -w ${lockSeconds} 9 || fail "another step still runs on this host after ${lockSeconds} seconds"
else
  waited=0
  until mkdir "$root/run/fairlead/step.lock.d" 2>/dev/null; do
    holder=$(cat "$root/run/fairlead/step.lock.d/pid" 2>/dev/null || true)
    if [ -n "$holder" ] && ! kill -0 "$holder" 2>/dev/null; then
      rm -rf "$root/run/fairlead/step.lock.d"
      continue
    fi
    [ "$waited" -lt ${lockSeconds} ] || fail "another step still runs on this host after ${lockSeconds} seconds"
    waited=$((waited + 1))
    sleep 1
  done
  lock_held="$root/run/fairlead/step.lock.d"
  echo "$$" >"$lock_held/pid"
fi

# Nobody else works here now: what a step needed that was killed goes. A control plane of somebody else keeps what it has.
rm -f "$root"/run/fairlead/kubeadm-*.yaml* "$root"/etc/fairlead/kubeadm-*.yaml*
for begun in "$root"/var/lib/fairlead/kubeadm-init.*.started; do
  if [ -e "$begun" ]; then rm -f "$root/etc/kubernetes/super-admin.conf"; fi
done
`;

/** A step starts as soon as its files exist; older files have lost their sender. */
const UNBEGUN_MINUTES = 5;

/** A login may set them, for example by /etc/environment. Commands of operators keep them. */
const WITHOUT_PROXIES = `
# What a step asks is in the cluster or on this host. kubeadm would also give its proxies to the static pods that it writes.
unset http_proxy https_proxy ftp_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY FTP_PROXY ALL_PROXY NO_PROXY
`;

/** The common part of every script: one step at a time per host, a timeout, a log, and a machine-readable result. */
const prelude = ({ step, limitSeconds, lockSeconds }: ScriptOptions): string => `#!/bin/sh
# Fairlead step "${step}". Rendered text: it may run again at any time and then changes only what is missing.
set -eu
umask 077
root="\${FAIRLEAD_ROOT:-}"
step=${quote(step)}
${step === 'node-exec' ? '' : WITHOUT_PROXIES}
# The step ends by itself, also when the connection that started it is gone.
if [ -z "\${FAIRLEAD_STEP_LIMITED:-}" ] && command -v timeout >/dev/null 2>&1; then
  export FAIRLEAD_STEP_LIMITED=1
  exec timeout -k 10 ${limitSeconds} sh "$0"
fi

# This shell has its file open and needs no name of it: nothing is left of the step, also when it is killed.
rm -f "$0"
# Steps that were sent and never began.
case $0 in
  */steps/*) find "\${0%/*}" -maxdepth 1 -type f -mmin +${UNBEGUN_MINUTES} -exec rm -f {} + 2>/dev/null || true ;;
esac

mkdir -p "$root/run/fairlead" "$root/var/log/fairlead" "$root/var/lib/fairlead" "$root/etc/fairlead"
log="$root/var/log/fairlead/$step.log"

clean_up() {
  if [ -n "\${lock_held:-}" ]; then rm -rf "$lock_held"; fi
}
trap clean_up EXIT
trap 'exit 143' TERM
trap 'exit 129' HUP

fail() {
  printf '%s\\n' "$*" >&2
  exit 1
}

# The last words of a command that failed go to whoever asked; all of them stay in the log.
run() {
  said=$(mktemp "$root/run/fairlead/$step.XXXXXX")
  code=0
  # Descriptor 9 is the lock: nothing that outlives the step may hold it.
  "$@" >"$said" 2>&1 9>&- || code=$?
  cat "$said" >>"$log"
  if [ "$code" -ne 0 ]; then
    tail -n 40 "$said" >&2
    rm -f "$said"
    exit "$code"
  fi
  rm -f "$said"
}

json_text() {
  printf '"%s"' "$(printf '%s' "$1" | tr '\\000-\\037' ' ' | sed 's/\\\\/\\\\\\\\/g; s/"/\\\\"/g')"
}

result() {
  printf 'FAIRLEAD-RESULT %s\\n' "$1"
}

${lockSeconds === null ? '' : lock(lockSeconds)}`;

/** A script for a host. */
export interface HostScript {
  readonly text: string;
  readonly limitSeconds: number;
}

/** A complete script: the common start and the step's own part. */
export const script = (options: ScriptOptions, body: string): HostScript => ({
  text: `${prelude(options)}\n${body.trim()}\n`,
  limitSeconds: options.limitSeconds,
});

/**
 * Deletes these files when the step ends, however it ends, and those left by an earlier one. They belong into /run, so
 * that a power failure leaves none on the disk.
 */
export const onlyDuringStep = (...paths: readonly string[]): string =>
  `trap 'rm -f ${paths.flatMap((path) => [`"$root${path}"`, `"$root${path}.new"`]).join(' ')}; clean_up' EXIT`;

/** Writes a file of the host atomically. */
export const writeFile = (path: string, mode: string, content: string): string =>
  [
    `mkdir -p "$(dirname "$root${path}")"`,
    `printf '%s' ${quote(content)} >"$root${path}.new"`,
    `chmod ${mode} "$root${path}.new"`,
    `mv "$root${path}.new" "$root${path}"`,
  ].join('\n');
