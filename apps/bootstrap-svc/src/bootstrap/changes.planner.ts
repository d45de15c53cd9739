import type { Fact, NodeName } from '@fairlead/contracts';
import type { Cluster, ControlPlaneChange, StartedChange } from './bootstrap.state.js';

/** Steps that change a control plane of a ready cluster. upgrade-svc prepares its removal, with a separate snapshot. */
const CHANGES: Readonly<Record<string, ControlPlaneChange>> = {
  AddEtcdMember: 'join',
  JoinControlPlane: 'join',
  ConfigureAuthentication: 'authentication',
};

interface ChangeTask {
  readonly step: string;
  readonly node?: NodeName;
}

interface NodeChange {
  readonly node: NodeName;
  readonly change: ControlPlaneChange;
}

/** A cluster that is being created has no data to lose. */
const changeOf = ({ provisioned }: Cluster, { step, node }: ChangeTask): NodeChange | undefined => {
  const change = CHANGES[step];
  return provisioned && change !== undefined && node !== undefined ? { node, change } : undefined;
};

const startedOf = ({ changes }: Cluster, { node, change }: NodeChange): StartedChange | undefined => {
  const started = changes?.[node];
  return started?.change === change ? started : undefined;
};

/** Whether it waits for a snapshot of etcd, or has not started. */
export const awaitsSnapshot = (cluster: Cluster, operation: ChangeTask): boolean => {
  const about = changeOf(cluster, operation);
  if (about === undefined) return false;
  const started = startedOf(cluster, about);
  return started === undefined || started.awaited !== undefined;
};

/** Changes that start now: their turn has come, and no snapshot for them has just failed. */
export const changesBegun = (
  cluster: Cluster,
  desired: readonly ChangeTask[],
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

/** When a change is retried whose snapshot of etcd failed; null: none. */
export const changeDueAfter = ({ changes = {} }: Cluster, now: string): string | null =>
  Object.values(changes)
    .flatMap(({ againAt }) => (againAt !== undefined && againAt > now ? [againAt] : []))
    .toSorted()[0] ?? null;
