import { without, type NodeName, type StoredEvent } from '@fairlead/contracts';
import { needsSnapshot, NO_SAVES, savesAfter, stepBegunIn } from '@fairlead/domain';
import { later } from '@fairlead/event-sourcing';
import type { Cluster, StartedChange } from './bootstrap.state.js';

/** Delay before a change is retried whose snapshot of etcd failed. */
const AGAIN_MS = 5 * 60_000;

type Changes = NonNullable<Cluster['changes']>;

const started = (
  changes: Changes,
  event: StoredEvent<'ControlPlaneChangeStarted'>,
  saves: Cluster['saves'],
): Changes => {
  const { node, change, number } = event.data;
  const awaited = needsSnapshot(saves ?? NO_SAVES, event.meta.time) ? stepBegunIn(event)?.requestId : undefined;
  return { ...changes, [node]: { change, number, ...(awaited === undefined ? {} : { awaited }) } };
};

const mapped = (changes: Changes, change: (one: StartedChange) => StartedChange): Changes =>
  Object.fromEntries(Object.entries(changes).map(([node, one]) => [node, change(one)]));

/** Whatever it was taken for, it is more recent than every waiting step. */
const saved = (changes: Changes): Changes => mapped(changes, ({ change, number }) => ({ change, number }));

const unsaved = (changes: Changes, requestId: string, time: string): Changes =>
  mapped(changes, (one) => (one.awaited === requestId ? { ...one, againAt: later(time, AGAIN_MS) } : one));

const ended = (changes: Changes, node: NodeName, change?: StartedChange['change']): Changes =>
  change === undefined || changes[node]?.change === change ? without(changes, node) : changes;

const changesAfter = (changes: Changes, event: StoredEvent, saves: Cluster['saves']): Changes => {
  switch (event.type) {
    case 'ControlPlaneChangeStarted':
      return started(changes, event, saves);
    case 'EtcdSnapshotTaken':
      return saved(changes);
    case 'EtcdSnapshotFailed':
      return unsaved(changes, event.data.requestId, event.meta.time);
    case 'ControlPlaneJoined':
      return ended(changes, event.data.node, 'join');
    case 'AuthenticationConfigured':
      return ended(changes, event.data.node, 'authentication');
    case 'NodeRemoved':
      return ended(changes, event.data.node);
    case 'VmDeleted':
      return ended(changes, event.data.name);
    // It is retried with a new snapshot.
    case 'BootstrapStepFailed': {
      const { node, nextAttemptAt } = event.data;
      return node === undefined || nextAttemptAt !== null ? changes : ended(changes, node);
    }
    case 'ClusterRetryRequested':
      return {};
    default:
      return changes;
  }
};

/** Started changes of control planes, and the etcd snapshots that they wait for. */
export const evolveChanges = (cluster: Cluster, event: StoredEvent): Cluster => {
  const { saves: savesBefore = NO_SAVES, changes: before = {} } = cluster;
  const saves = savesAfter(savesBefore, event);
  const changes = changesAfter(before, event, saves);
  const isEmpty = Object.keys(changes).length === 0;
  const isSame = changes === before || (isEmpty && Object.keys(before).length === 0);
  if (saves === savesBefore && isSame) return cluster;
  const { saves: _saves, changes: _changes, ...others } = cluster;
  const changesBegun = event.type === 'ControlPlaneChangeStarted' ? event.data.number : cluster.changesBegun;
  return {
    ...others,
    ...(saves === NO_SAVES ? {} : { saves }),
    ...(isEmpty ? {} : { changes }),
    ...(changesBegun === undefined ? {} : { changesBegun }),
  };
};
