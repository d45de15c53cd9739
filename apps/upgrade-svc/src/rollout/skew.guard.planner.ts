import type { Finding, NodeName } from '@fairlead/contracts';
import { skewFindings, statesOf, type Versions } from '../rules/skew.rules.js';
import type { RolloutView, TrackedOperation } from './rollout.view.js';

/**
 * The version of a control plane's components: the one that this plan has installed, otherwise the one when the plan
 * was made.
 */
const componentsOf = ({ cluster, upgrade, operations }: RolloutView, node: NodeName): string => {
  const done = operations.filter(
    ({ operation, state }) =>
      operation.node === node &&
      operation.change?.kubernetes !== null &&
      (state.revision !== null || state.status === 'done'),
  );
  const brought = done.at(-1)?.operation.change?.kubernetes;
  return brought ?? upgrade.plan?.apiServers?.[node] ?? upgrade.plan?.path[0] ?? cluster.version;
};

/**
 * This cluster's kubeadm points control plane kubelets to the local API server, if the plan upgrades them together
 * (C6).
 */
const kubeletsAreLocal = ({ operations }: RolloutView): boolean =>
  operations.some(
    ({ operation }) =>
      operation.change?.kubeadm === 'apply' &&
      operation.role === 'control-plane' &&
      operation.to['kubelet'] !== undefined,
  );

/** The versions that run on each node now, from the log alone. */
export const versionsNow = (view: RolloutView): Versions =>
  Object.values(view.cluster.nodes).flatMap((node) => {
    const kubelet = node.software['kubelet'] ?? node.desired?.software['kubelet'];
    if (kubelet === undefined) return [];
    const components = node.role === 'control-plane' ? componentsOf(view, node.name).slice(1) : null;
    return [
      {
        name: node.name,
        role: node.role,
        kubelet,
        kubeProxy: null,
        apiServer: components,
        controllerManager: components,
        scheduler: components,
        kubeletTalksToLocalApi: kubeletsAreLocal(view),
      },
    ];
  });

const keyOf = ({ rule, facts }: Finding): string => `${rule}/${String(facts['node'])}`;

/**
 * A6 again, before each node: nodes skipped or failed since the plan was made may have versions that the next step
 * would break. Only findings that the step itself causes are returned.
 */
export const skewBrokenBy = ({ rollout, operation }: TrackedOperation): readonly Finding[] => {
  const now = versionsNow(rollout);
  const before = new Set(skewFindings(now).map(keyOf));
  return statesOf(now, operation)
    .flatMap(skewFindings)
    .filter((finding) => !before.has(keyOf(finding)));
};
