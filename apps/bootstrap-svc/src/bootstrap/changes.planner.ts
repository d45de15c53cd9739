import type { Fact, NodeName } from '@fairlead/contracts';
import type { Cluster, ControlPlaneChange, StartedChange } from './bootstrap.state.js';

/** Steps that change a control plane of a cluster that serves. Its removal is prepared by upgrade-svc, with a snapshot of its own. */
const CHANGES: Readonly<Record<string, ControlPlaneChange>> = {
  AddEtcdMember: 'join',
  JoinControlPlane: 'join',
  ConfigureAuthentication: 'authentication',
};

interface Operation {
  readonly step: string;
  readonly node?: NodeName;
}

interface NodeChange {
  readonly node: NodeName;
  readonly change: ControlPlaneChange;
}

/** While a cluster is created there is nothing to lose. */
const changeOf = ({ provisioned }: Cluster, { step, node }: Operation): NodeChange | undefined => {
  const change = CHANGES[step];
  return provisioned && change !== undefined && node !== undefined ? { node, change } : undefined;
};

const startedOf = ({ changes }: Cluster, { node, change }: NodeChange): StartedChange | undefined => {
  const started = changes?.[node];
  return started?.change === change ? started : undefined;
};

/** Whether it waits for a snapshot of etcd, or has not begun. */
export const awaitsSnapshot = (cluster: Cluster, operation: Operation): boolean => {
  const about = changeOf(cluster, operation);
  if (about === undefined) return false;
  const started = startedOf(cluster, about);
  return started === undefined || started.awaited !== undefined;
};

/** Changes that begin now: their turn has come, and no snapshot was tried for them a moment ago. */
export const changesBegun = (
  cluster: Cluster,
  desired: readonly Operation[],
  now: string,
): readonly Fact<'ControlPlaneChangeStarted'>[] => {
  const [next] = desired.flatMap((operation) => {
    const about = changeOf(cluster, operation);
    if (about === undefined) return [];
    const started = startedOf(cluster, about);
    const isDue = started === undefined || (started.againAt !== undefined && started.againAt <= now);
    return isDue ? [about] : [];
  });
  if (next === undefined) return [];
  const { uid, changesBegun: begun = 0 } = cluster;
  return [{ type: 'ControlPlaneChangeStarted', data: { uid, ...next, number: begun + 1 } }];
};

/** When a change begins again for which etcd could not be saved; null: none does. */
export const changeDueAfter = ({ changes = {} }: Cluster, now: string): string | null =>
  Object.values(changes)
    .flatMap(({ againAt }) => (againAt !== undefined && againAt > now ? [againAt] : []))
    .toSorted()[0] ?? null;
