import { EXTERNAL_ETCD } from '@fairlead/contracts';
import { ETCDCTL } from '../etcd/etcdctl.js';
import { script, type HostScript } from '../shell/script.js';

export interface EtcdHealthInput {
  /** The expected number of members. */
  readonly members: number;
}

export interface EtcdHealthResult {
  /** This many are known, have started, and answer. */
  readonly members: number;
}

const HEALTHY_WITHIN_SECONDS = 120;

/** Waits until this host's member knows all others, and every one of them accepts a proposal. */
export const etcdHealthScript = ({ members }: EtcdHealthInput): HostScript =>
  script(
    { step: 'etcd-health', limitSeconds: 180, lockSeconds: null },
    `
${ETCDCTL.trim()}

said="$root/run/fairlead/etcd-health.$$"
begun=$(date +%s)
while :; do
  started=0
  healthy=0
  # id, status, name, peer addresses, client addresses, is a learner
  if etcd member list >"$said" 2>&1; then
    started=$(grep -c ', started, ' "$said" || true)
    etcd endpoint health --cluster >"$said" 2>&1 || true
    healthy=$(grep -c ' is healthy' "$said" || true)
  fi
  if [ "$started" -eq ${members} ] && [ "$healthy" -eq ${members} ]; then break; fi
  cat "$said" >>"$log"
  if [ $(($(date +%s) - begun)) -ge ${HEALTHY_WITHIN_SECONDS} ]; then
    words=$(tail -n 5 "$said"; journalctl --unit ${EXTERNAL_ETCD.unit} --lines 3 --output cat 2>/dev/null || true)
    rm -f "$said"
    fail "$started of ${members} members of etcd have started, and $healthy are healthy: $words"
  fi
  sleep 1
done
rm -f "$said"
result "{\\"members\\":$healthy}"
`,
  );
