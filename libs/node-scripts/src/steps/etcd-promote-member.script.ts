import { ETCDCTL } from '../etcd/etcdctl.js';
import { peerUrlOf, type EtcdPeer } from '../etcd/etcd.paths.js';
import { quote } from '../shell/quote.js';
import { script, type HostScript } from '../shell/script.js';

export type EtcdPromoteMemberInput = EtcdPeer;

export interface EtcdPromoteMemberResult {
  /** The number of voting members afterwards. */
  readonly members: number;
}

/** For a database of the maximum size that etcd recommends (8 GiB) over a slow network. */
const IN_SYNC_WITHIN_SECONDS = 900;

/** Promotes a learner as soon as it has all data of the leader. A voting member is left unchanged. */
export const etcdPromoteMemberScript = (input: EtcdPromoteMemberInput): HostScript =>
  script(
    { step: 'etcd-promote-member', limitSeconds: 960, lockSeconds: null },
    `
${ETCDCTL.trim()}

peer=${quote(peerUrlOf(input))}
begun=$(date +%s)
said=''
while :; do
  # id, status, name, peer addresses, client addresses, is a learner
  if list=$(etcd member list 2>>"$log"); then
    line=$(printf '%s\\n' "$list" | awk -F ', ' -v peer="$peer" '$4 == peer')
    [ -n "$line" ] || fail "etcd has no member at $peer"
    case "$line" in *', started, '*', false') break ;; esac
    said=$(etcd member promote "\${line%%,*}" 2>&1) && continue
    printf '%s\\n' "$said" >>"$log"
  fi
  if [ $(($(date +%s) - begun)) -ge ${IN_SYNC_WITHIN_SECONDS} ]; then
    fail "the etcd member at $peer has not caught up with its leader: $said"
  fi
  sleep 1
done
result "{\\"members\\":$(printf '%s\\n' "$list" | grep -c ', false$')}"
`,
  );
