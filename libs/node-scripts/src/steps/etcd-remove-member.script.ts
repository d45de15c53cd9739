import { ETCDCTL, stackedEtcdctl } from '../etcd/etcdctl.js';
import { quote } from '../shell/quote.js';
import { script, type HostScript } from '../shell/script.js';

export interface EtcdRemoveMemberInput {
  /** The control plane whose etcd member is removed. */
  readonly member: string;
  /** Its own address: a member whose join was interrupted has no name yet. */
  readonly address: string;
  /** The control plane on which this runs. */
  readonly self: string;
  /** External etcd: its members are units of the hosts. */
  readonly external: boolean;
}

export interface EtcdRemoveMemberResult {
  /** False: etcd does not know the member (any longer). */
  readonly changed: boolean;
  /** Remaining members. */
  readonly members: number;
}

/** etcd requires all members to have been connected for 5 s (its option --strict-reconfig-check). */
const REMOVAL_TRIES_MAX = 8;

/**
 * Removes a member of etcd through a surviving control plane. Refused if the remaining healthy members would not be a
 * majority: the quorum is computed from etcd itself, not from any record.
 */
export const etcdRemoveMemberScript = ({ member, address, self, external }: EtcdRemoveMemberInput): HostScript =>
  script(
    { step: 'etcd-remove-member', limitSeconds: 120, lockSeconds: 120 },
    `
${(external ? ETCDCTL : stackedEtcdctl(self)).trim()}

member=${quote(member)}
peer=${quote(`https://${address.includes(':') ? `[${address}]` : address}:2380`)}
# id, status, name, peer addresses, client addresses, is a learner
list=$(etcd member list 2>>"$log") || fail "etcd did not list its members: $(tail -n 5 "$log")"
before=$(printf '%s\\n' "$list" | grep -c . || true)
id=$(printf '%s\\n' "$list" | awk -F ', ' -v name="$member" -v peer="$peer" '$3 == name || $4 == peer { print $1 }')
if [ -z "$id" ]; then
  result "{\\"changed\\":false,\\"members\\":$before}"
  exit 0
fi

health=$(etcd endpoint health --cluster 2>&1 || true)
survivors=0
for client in $(printf '%s\\n' "$list" | awk -F ', ' -v id="$id" '$1 != id { split($5, urls, ","); print urls[1] }'); do
  if printf '%s\\n' "$health" | grep -F "$client " | grep -q 'is healthy'; then survivors=$((survivors + 1)); fi
done
after=$((before - 1))
needed=$((after / 2 + 1))
if [ "$survivors" -lt "$needed" ]; then
  fail "removing etcd member $member would leave $survivors healthy of $after, and $needed are needed"
fi

# For some seconds after a member has come etcd refuses to change its membership again.
tries=0
until said=$(etcd member remove "$id" 2>&1); do
  tries=$((tries + 1))
  case "$said" in *'unhealthy cluster'*) ;; *) tries=${REMOVAL_TRIES_MAX} ;; esac
  if [ "$tries" -ge ${REMOVAL_TRIES_MAX} ]; then fail "etcd did not remove its member $member: $said"; fi
  sleep 2
done
result "{\\"changed\\":true,\\"members\\":$after}"
`,
  );
