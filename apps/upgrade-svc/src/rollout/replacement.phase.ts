import type { NodeName } from '@fairlead/contracts';
import { heldBecause } from '../holds/holds.js';
import { CONTROL_PLANE_POOL, poolOf } from '../plan/plan.request.js';
import type { RolloutView, TrackedOperation } from './rollout.view.js';

/**
 * Nodes of the pool that have another version and are not held: those of the plan, or their successors in a later step
 * of its path, or what a failed or aborted replacement has left.
 */
export const nodesToReplace = ({ operation, rollout: { cluster } }: TrackedOperation): readonly NodeName[] =>
  Object.values(cluster.nodes)
    .filter((node) => poolOf(node) === operation.pool && heldBecause(cluster.holds, node) === undefined)
    .filter(
      ({ name, software }) => cluster.extra[name] === undefined && software['kubelet'] !== operation.to['kubelet'],
    )
    .map(({ name }) => name);

/** The phase of an operation that replaces nodes: requested here, carried out by infra-svc. */
export const replacementPhase = (tracked: TrackedOperation): 'complete' | 'effect' | 'fail' | 'replacing' => {
  const { replacement, trouble } = tracked.state;
  if (replacement === undefined) return nodesToReplace(tracked).length === 0 ? 'complete' : 'effect';
  if (replacement.isDone) return 'complete';
  return trouble === null ? 'replacing' : 'fail';
};

/** kubeadm did not upgrade the addons: the control planes of the step before were replaced, not upgraded. */
export const isAfterReplacement = ({ operation, rollout }: TrackedOperation): boolean =>
  rollout.operations.some(
    (other) =>
      other.operation.kind === 'replace' &&
      other.operation.pool === CONTROL_PLANE_POOL &&
      `v${other.operation.to['kubelet']}` === operation.to['kubernetes'],
  );

/** Replacements that have begun are completed, also when the rollout is aborted: a node is never left half-way. */
export const isAnyUnderWay = ({ cluster, upgrade, operations }: RolloutView): boolean =>
  upgrade.plan !== null &&
  operations.some(({ state }) => state.replacement !== undefined) &&
  Object.keys(cluster.repairs).some((key) => key.startsWith('replace/') || key.startsWith('remove/'));
