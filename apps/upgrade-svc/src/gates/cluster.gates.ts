import type { NodeName } from '@fairlead/contracts';
import type { WorkloadFacts } from '../rules/cluster.facts.js';
import { b2ClusterHealthy, HEALTHY_PASSES_MIN } from '../rules/preflight.rules.js';
import type { Gate, GateLook } from './gate.js';
import { byFindings, fails, holds } from './verdict.js';

const KUBE_SYSTEM = 'kube-system';
const LEADING_COMPONENTS = ['kube-controller-manager', 'kube-scheduler'] as const;

/** DaemonSets also count their pods on excused nodes, which are treated as ready. */
const withoutExcused = async (
  { cluster }: GateLook,
  system: readonly WorkloadFacts[],
  excused: readonly NodeName[],
): Promise<readonly WorkloadFacts[]> => {
  const pods = (await Promise.all(excused.map((node) => cluster.podsOn(node)))).flat();
  const unready = pods.filter(({ ready, namespace }) => !ready && namespace === KUBE_SYSTEM);
  return system.map((workload) => {
    const away = unready.filter(
      ({ controller }) => controller?.kind === workload.kind && controller.name === workload.name,
    ).length;
    return { ...workload, ready: workload.ready + away };
  });
};

/**
 * B2. Before a node, its short form (C1) with one pass: the survey before the plan saw the cluster healthy twice, and
 * every node since then has passed its own gates. Two passes at the end of a step of the plan (C9), as before the first
 * worker.
 */
export const clusterHealthy: Gate = async (look) => {
  const { excused } = look;
  const passesMin = look.node === null ? HEALTHY_PASSES_MIN : 1;
  for (let passes = 1; ; passes += 1) {
    const { nodes, system } = await look.survey.health(look);
    const facts = {
      nodes,
      system: await withoutExcused(look, system, excused),
      healthyPasses: HEALTHY_PASSES_MIN,
    };
    const verdict = byFindings(b2ClusterHealthy(facts, excused), { passes, nodes: nodes.length, excused });
    if (!verdict.holds || passes >= passesMin) return verdict;
    await look.rest('passes');
  }
};

export const apiAnswers: Gate = async ({ cluster }) => {
  const failing = await cluster.failingChecks();
  return failing.length === 0 ? holds() : fails(`failed checks of the API server: ${failing.join(', ')}`, { failing });
};

/**
 * kube-controller-manager and kube-scheduler renew every 2 s, so most leases are renewed well before the interval ends.
 */
export const LEASE_LOOKS_MAX = 10;

/**
 * A lease that is renewed between two checks is held by a working component; judging by its age would depend on two
 * clocks.
 */
export const leasesRenew: Gate = async ({ cluster, rest }) => {
  const look = async (): Promise<ReadonlyMap<string, string>> => {
    const leases = await Promise.all(LEADING_COMPONENTS.map((name) => cluster.lease(name)));
    return new Map(leases.flatMap((lease) => (lease === undefined ? [] : [[lease.name, lease.renewedAt]])));
  };
  const before = await look();
  for (let looks = 1; ; looks += 1) {
    await rest('leases');
    const now = await look();
    const still = LEADING_COMPONENTS.filter(
      (name) => now.get(name) === undefined || now.get(name) === before.get(name),
    );
    const facts = { renewedAt: Object.fromEntries(now) };
    if (still.length === 0) return holds(facts);
    if (looks >= LEASE_LOOKS_MAX) return fails(`the lease of ${still.join(' and ')} is not renewed`, facts);
  }
};
