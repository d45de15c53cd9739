import { ADDON_WORKLOADS, type AddonWorkload } from '@fairlead/contracts';
import type { WorkloadView } from '../kubernetes/kubernetes.ports.js';

/** The result of one check: per addon the reason why it is degraded; null: it runs. */
export type AddonLook = Readonly<Record<string, string | null>>;

/** The findings that this check and the previous one share, for the addons that were checked. */
export interface AddonFindings {
  /** The reasons, by addon. */
  readonly degraded: Readonly<Record<string, string>>;
  readonly running: readonly string[];
}

export const NO_ADDONS_SEEN: AddonFindings = { degraded: {}, running: [] };

export const workloadsOf = (addon: string): readonly AddonWorkload[] => ADDON_WORKLOADS[addon] ?? [];

/**
 * Pods on nodes that are not Ready are a problem of those nodes. During a rolling update some pods are not Ready, which
 * is expected.
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

/** `found`: in the order of `workloadsOf`. The first problem is returned. */
export const lookOf = (addon: string, found: readonly (WorkloadView | undefined)[], nodesAway: number): string | null =>
  workloadsOf(addon)
    .map((workload, at) => problemOf(workload, found[at], nodesAway))
    .find((problem) => problem !== null) ?? null;

/** Whether any addon has a problem, which the next check has to confirm. */
export const isSuspect = (look: AddonLook): boolean => Object.values(look).some((problem) => problem !== null);

/**
 * The messages of the newer check, for addons that both report as degraded; a running addon needs only the newer one.
 */
export const agreed = (before: AddonLook, now: AddonLook): AddonFindings => ({
  degraded: Object.fromEntries(
    Object.entries(now).flatMap(([addon, problem]) =>
      problem !== null && typeof before[addon] === 'string' ? [[addon, problem] as const] : [],
    ),
  ),
  running: Object.entries(now).flatMap(([addon, problem]) => (problem === null ? [addon] : [])),
});
