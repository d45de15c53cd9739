import { AGENT_PATHS, type HostBaseline } from '@fairlead/contracts';
import { hostPath } from '../shell/quote.js';
import { BASELINE, BASELINE_JSON } from './host-wipe.parts.js';
import { script, type HostScript } from '../shell/script.js';

export type LookInput = Readonly<Record<string, never>>;

/** What a host is, before it is anybody's. */
export interface LookResult {
  readonly cpus: number;
  readonly memoryMiB: number;
  /** Why it cannot become a node, one sentence each; empty: it can. */
  readonly problems: readonly string[];
  readonly baseline: HostBaseline;
}

/** Looks at a host of an inventory and changes nothing: its size, and whether it is free to become a node. */
export const lookScript = (): HostScript =>
  script(
    { step: 'look', limitSeconds: 30, lockSeconds: null },
    `
problems=''
problem() {
  problems="$problems\${problems:+,}$(json_text "$1")"
}
[ "$(id -u)" = 0 ] || problem 'commands do not run as root'
command -v systemctl >/dev/null 2>&1 || problem 'it has no systemd'
for file in etc/kubernetes/kubelet.conf etc/kubernetes/admin.conf var/lib/etcd/member; do
  [ ! -e "$root/$file" ] || problem "it is a Kubernetes node already (/$file exists)"
done
[ ! -e ${hostPath(AGENT_PATHS.config)} ] || problem 'it has an agent of another cluster'
${BASELINE.trim()}
pages=$(getconf _PHYS_PAGES)
page=$(getconf PAGESIZE)
result "{\\"cpus\\":$(getconf _NPROCESSORS_ONLN),\\"memoryMiB\\":$((pages * page / 1048576)),\\"problems\\":[$problems],\\"baseline\\":${BASELINE_JSON}}"
`,
  );
