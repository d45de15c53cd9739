import { ETCDCTL } from '../etcd/etcdctl.js';
import { peerUrlOf, type EtcdPeer } from '../etcd/etcd.paths.js';
import { quote } from '../shell/quote.js';
import { script, type HostScript } from '../shell/script.js';

/** The member to add, and the control plane on which it runs. */
export type EtcdAddMemberInput = EtcdPeer;

export interface EtcdAddMemberResult {
  /** False: etcd knew it already, from an earlier run of this step. */
  readonly changed: boolean;
  /** All current members of etcd, including the new one, which must be started with them. */
  readonly members: readonly { readonly name: string; readonly peerUrl: string }[];
}

/** For some seconds after a membership change etcd rejects the next one (its option --strict-reconfig-check). */
const TRIES_MAX = 8;

/**
 * Adds a member to the external etcd, through an existing one. It is added as a learner, which has no vote: until it
 * has all data, neither its start nor its failure changes the quorum.
 */
export const etcdAddMemberScript = (input: EtcdAddMemberInput): HostScript =>
  script(
    { step: 'etcd-add-member', limitSeconds: 120, lockSeconds: 120 },
    `
${ETCDCTL.trim()}

member=${quote(input.name)}
peer=${quote(peerUrlOf(input))}
changed=false
# id, status, name, peer addresses, client addresses, is a learner
list=$(etcd member list 2>>"$log") || fail "etcd did not list its members: $(tail -n 5 "$log")"
other=$(printf '%s\\n' "$list" | awk -F ', ' -v name="$member" -v peer="$peer" '$4 == peer && $3 != "" && $3 != name { print $3 }')
[ -z "$other" ] || fail "etcd has a member $other at $peer already"
if [ -z "$(printf '%s\\n' "$list" | awk -F ', ' -v peer="$peer" '$4 == peer')" ]; then
  tries=0
  until said=$(etcd member add "$member" --learner --peer-urls="$peer" 2>&1); do
    tries=$((tries + 1))
    case "$said" in *'unhealthy cluster'*) ;; *) tries=${TRIES_MAX} ;; esac
    if [ "$tries" -ge ${TRIES_MAX} ]; then fail "etcd did not add its member $member: $said"; fi
    sleep 2
  done
  changed=true
  list=$(etcd member list 2>>"$log") || fail "etcd did not list its members: $(tail -n 5 "$log")"
fi
# One that has not started has no name yet.
members=$(printf '%s\\n' "$list" | awk -F ', ' -v name="$member" -v peer="$peer" '
  $4 != "" {
    called = $4 == peer ? name : ($3 == "" ? $1 : $3)
    printf "%s{\\"name\\":\\"%s\\",\\"peerUrl\\":\\"%s\\"}", (n++ ? "," : ""), called, $4
  }')
result "{\\"changed\\":$changed,\\"members\\":[$members]}"
`,
  );
