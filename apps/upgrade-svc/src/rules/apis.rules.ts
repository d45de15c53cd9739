import { type Finding, minorsAhead, releaseOf } from '@fairlead/contracts';
import type { ClusterFacts } from './cluster.facts.js';
import { finding, when } from './finding.js';

/** AKS looks back 12 hours, EKS 30 days; we take the longer, as far as API servers remember. */
const API_USE_WINDOW_MS = 30 * 24 * 3_600_000;

/** B5: nothing used an API of late that the target no longer has. */
export const b5RemovedApis = (facts: ClusterFacts, target: string): readonly Finding[] => {
  const used = facts.deprecatedApis.filter(
    ({ removedIn, requests, lastUsedAt }) =>
      requests > 0 &&
      removedIn !== null &&
      minorsAhead(removedIn, target) >= 0 &&
      (lastUsedAt === null || Date.parse(facts.at) - Date.parse(lastUsedAt) <= API_USE_WINDOW_MS),
  );
  return used.map(({ api, removedIn, requests, lastUsedAt }) =>
    finding('B5.api', { api, removedIn, requests, lastUsedAt }),
  );
};

/** Flags that a minor no longer knows; a component that is started with one does not come up. */
const REMOVED_FLAGS: readonly {
  readonly component: string;
  readonly flag: string;
  readonly removedIn: string;
}[] = [
  { component: 'kube-apiserver', flag: '--cloud-provider', removedIn: '1.33' },
  { component: 'kube-apiserver', flag: '--cloud-config', removedIn: '1.33' },
  { component: 'etcd', flag: '--experimental-', removedIn: 'etcd 3.7' },
];

const isRemoved = (removedIn: string, target: string, etcd: string | undefined): boolean =>
  removedIn.startsWith('etcd ')
    ? etcd !== undefined && minorsAhead(removedIn.slice(5), etcd) >= 0
    : minorsAhead(removedIn, target) >= 0;

/** B5: no component is started with a flag that the target no longer knows. */
export const b5RemovedFlags = (facts: ClusterFacts, target: string): readonly Finding[] => {
  const etcd = releaseOf(target)?.etcd;
  return REMOVED_FLAGS.filter(({ removedIn }) => isRemoved(removedIn, target, etcd)).flatMap(
    ({ component, flag, removedIn }) => {
      const nodes = facts.nodes.filter(({ staticPods }) =>
        staticPods.some((pod) => pod.component === component && pod.args.some((arg) => arg.startsWith(flag))),
      );
      return when(nodes.length > 0, () =>
        finding('B5.flag', { component, flag, removedIn, nodes: nodes.map(({ name }) => name) }),
      );
    },
  );
};
