import type { UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import { agreed, isSuspect, lookOf, workloadsOf, type AddonFindings, type AddonLook } from './addons.planner.js';
import type { ListedNode } from './presence.planner.js';

/**
 * Addons are looked at with every so-many-th look at Nodes, and with the next one as long as something is suspected; with each look where
 * there are so many clusters that looks are further apart than the setting has it. The connection, which is most of the cost, is open then.
 */
const LOOKS_PER_ADDON_LOOK = { usual: 5, seldom: 1 };

/** A look at the Nodes of the cluster, with which its addons may be looked at. */
export interface NodesLook {
  readonly api: Pick<UpgradeCluster, 'workload'>;
  readonly listed: readonly ListedNode[];
  /** Looks are further apart than the setting has it. */
  readonly isSeldom: boolean;
}

/** The addons of one cluster: what two looks in a row agree on counts. */
export class AddonWatch {
  private installed: readonly string[] = [];
  private last: AddonLook = {};
  private looksLeft = 0;

  /** The next look has to come soon. */
  get isSuspected(): boolean {
    return isSuspect(this.last);
  }

  /** undefined: this look leaves them out. */
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

  /** One look before an outage and one after it do not agree. */
  forget(): void {
    this.last = {};
  }

  /** As the log has them, which is read when something is recorded. Those that were not known are looked at next time. */
  areInstalled(addons: readonly string[]): void {
    if (addons.some((addon) => !this.installed.includes(addon))) this.looksLeft = 1;
    this.installed = addons;
  }
}
