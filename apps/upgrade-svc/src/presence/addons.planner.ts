import { ADDON_WORKLOADS, type AddonWorkload } from '@fairlead/contracts';
import type { WorkloadView } from '../kubernetes/kubernetes.ports.js';

/** What a look at addons shows of each: why it is degraded; null: it runs. */
export type AddonLook = Readonly<Record<string, string | null>>;

/** What this look and the one before agree on, of the addons that were looked at. */
export interface AddonFindings {
  /** Why, by addon. */
  readonly degraded: Readonly<Record<string, string>>;
  readonly running: readonly string[];
}

export const NO_ADDONS_SEEN: AddonFindings = { degraded: {}, running: [] };

export const workloadsOf = (addon: string): readonly AddonWorkload[] => ADDON_WORKLOADS[addon] ?? [];

/**
 * Its pods on nodes that are not Ready are the nodes' problem. Pods of former templates are exchanged one after the other, so some are
 * not Ready then.
 */
const problemOf = (
  { kind, namespace, name }: AddonWorkload,
  found: WorkloadView | undefined,
  nodesAway: number,
): string | null => {
  if (found === undefined) return `there is no ${kind} ${namespace}/${name}`;
  const { desired, ready, former, observed } = found;
  const words = `${kind} ${namespace}/${name} has ${ready} of ${desired} pods Ready`;
  if (desired > 0 && ready === 0) return words;
  const isChanging = former > 0 || !observed;
  return kind === 'DaemonSet' && !isChanging && desired - ready > nodesAway ? words : null;
};

/** `found`: in the order of `workloadsOf`. The first problem counts. */
export const lookOf = (addon: string, found: readonly (WorkloadView | undefined)[], nodesAway: number): string | null =>
  workloadsOf(addon)
    .map((workload, at) => problemOf(workload, found[at], nodesAway))
    .find((problem) => problem !== null) ?? null;

/** Whether something is suspected: then the next look sees whether it stays so. */
export const isSuspect = (look: AddonLook): boolean => Object.values(look).some((problem) => problem !== null);

/** The sentences of the newer look, for what both call degraded; what it calls running is running. */
export const agreed = (before: AddonLook, now: AddonLook): AddonFindings => ({
  degraded: Object.fromEntries(
    Object.entries(now).flatMap(([addon, problem]) =>
      problem !== null && typeof before[addon] === 'string' ? [[addon, problem] as const] : [],
    ),
  ),
  running: Object.entries(now).flatMap(([addon, problem]) => (problem === null ? [addon] : [])),
});
