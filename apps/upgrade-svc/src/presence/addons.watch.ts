import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import { agreed, isSuspect, lookOf, workloadsOf, type AddonFindings, type AddonLook } from './addons.planner.js';
import type { ListedNode } from './presence.planner.js';

/**
 * Addons are checked with every nth list of Nodes, and with the next one while a problem is unconfirmed; with every
 * list if there are so many clusters that the interval is longer than the setting. The connection, which is most of the
 * cost, is then already open.
 */
const LOOKS_PER_ADDON_LOOK = { usual: 5, seldom: 1 };

/** A list of the cluster's Nodes, with the API to check addons. */
export interface NodesLook {
  readonly api: Pick<UpgradeCluster, 'workload'>;
  readonly listed: readonly ListedNode[];
  /** The interval is longer than the setting. */
  readonly isSeldom: boolean;
}

/** The addons of one cluster: only a problem that two checks in a row find is reported. */
export class AddonWatch {
  private installed: readonly string[] = [];
  private last: AddonLook = {};
  private looksLeft = 0;

  /** The next check has to run soon. */
  get isSuspected(): boolean {
    return isSuspect(this.last);
  }

  /** undefined: addons were not checked this time. */
  async look({ api, listed, isSeldom }: NodesLook): Promise<AddonFindings | undefined> {
    this.looksLeft -= 1;
    if (this.looksLeft > 0) return undefined;
    const nodesAway = listed.filter(({ ready }) => !ready).length;
    const seen: Record<string, string | null> = {};
    for (const addon of this.installed) {
      const found = workloadsOf(addon).map(({ kind, namespace, name }) => api.workload(kind, namespace, name));
      seen[addon] = lookOf(addon, await Promise.all(found), nodesAway);
    }
    const findings = agreed(this.last, seen);
    this.last = seen;
    this.looksLeft = isSuspect(seen) ? 1 : LOOKS_PER_ADDON_LOOK[isSeldom ? 'seldom' : 'usual'];
    return findings;
  }

  /** A check before an outage and one after it are not two in a row. */
  forget(): void {
    this.last = {};
  }

  /**
   * The installed addons according to the log, which is read when findings are recorded. New ones are checked next
   * time.
   */
  areInstalled(addons: readonly string[]): void {
    if (addons.some((addon) => !this.installed.includes(addon))) this.looksLeft = 1;
    this.installed = addons;
  }
}
