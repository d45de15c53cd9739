import type { RefusalCode, StoredEvent } from '@fairlead/contracts';
import { Inject, Injectable } from '@nestjs/common';
import type { ClusterAddress } from '../common/cluster.address.js';
import { showSeq } from '../http/answers.js';
import type { Exchange } from '../http/caller.js';
import { CommandAnswers } from '../http/command.answers.js';
import { IDEMPOTENCY_REFUSALS } from '../http/idempotency.js';
import { nodeRequestsAfter, isGrowing, NO_NODE_REQUESTS } from '../lifecycle/node.requests.js';
import { isRolledOut } from '../upgrades/upgrade.ends.js';
import type { AppliedManifest } from './manifest.commands.js';
import { isOperation } from './manifest.view.js';

/** What every change of a manifest may be refused with. */
export const CHANGE_REFUSALS: readonly RefusalCode[] = [
  'namespace.unknown',
  'cluster.unknown',
  'cluster.resource-version',
  'cluster.uid-mismatch',
  'cluster.manifest-address',
  'cluster.deleting',
  'cluster.not-ready',
  'cluster.creation-failed',
  'cluster.busy',
  'cluster.paused',
  'cluster.pause-with-changes',
  'upgrade.open',
  'cluster.field-immutable',
  'cluster.publish-no-domain',
  'cluster.publish-name',
  'cluster.version-with-changes',
  'cluster.version-lower',
  'cluster.version-path',
  'upgrade.version-invalid',
  'template.not-found',
  'template.deprecated',
  'template.field-fixed',
  'template.version-lower',
  'template.version-step',
  'template.kubelet-too-old',
  'cluster.control-plane-surge',
  'cluster.replace-schedulable',
  'pool.rollout-blocked',
  'pool.autoscaling-bounds',
  'pool.replicas-autoscaled',
  'hook.name-taken',
  'hook.url-invalid',
  'hook.timeout',
  'drain.rule-twice',
  'drain.rule-order',
  'drain.rule-pool',
  'drain.detach-timeout',
  'address.name-taken',
  'address.taken',
  'address.unusable',
  'address.family',
  'address.in-cluster',
  'address.pool-unknown',
  'address.provider',
  'address.networks',
  'transport.name-taken',
  'transport.port-twice',
  'transport.port-used',
  'transport.port-same',
  'transport.allow-family',
  'transport.interval',
  'etcd.schedule-invalid',
  'etcd.schedule-too-often',
  'etcd.keep-for-short',
  'cluster.control-plane-even',
  'cluster.control-plane-count',
  'cluster.etcd-external-count',
  'cluster.control-plane-too-many',
  'cluster.single-node',
  'node.quorum',
  'pool.key-reserved',
  'pool.taint-twice',
  'pool.zone-unknown',
  'pool.removals-exceed',
  'cluster.name-taken',
  'node.unknown',
  'pool.name-taken',
  'pool.name-reserved',
  'cluster.single-connection',
  'cluster.too-many-nodes',
  'cluster.pod-cidr-small',
  'connection.unknown',
  'connection.not-granted',
  'cluster.spec-unknown',
  'quota.exceeded',
  'conflict.concurrent',
  ...IDEMPOTENCY_REFUSALS,
];

const ENDED: ReadonlySet<string> = new Set<StoredEvent['type']>([
  'ClusterFailed',
  'ClusterRejected',
  'ClusterDeletionRequested',
]);

/** Of the upgrade that was requested: nothing of it goes on by itself. */
const isEndOf = (requested: StoredEvent, event: StoredEvent): boolean =>
  'upgradeId' in requested.data &&
  'upgradeId' in event.data &&
  event.data.upgradeId === requested.data.upgradeId &&
  isRolledOut(event);

/** Holds at the event after which nothing that a decision requested is under way. It remembers what has ended. */
const endOf = (requested: readonly StoredEvent[]): ((event: StoredEvent) => boolean) => {
  const leaving = new Set(requested.flatMap((one) => (one.type === 'NodeRemovalRequested' ? [one.data.node] : [])));
  const upgrade = requested.find(({ type }) => type === 'UpgradeRequested');
  let isUpgraded = upgrade === undefined;
  let isCreated = !requested.some(({ type }) => type === 'ClusterRequested' || type === 'ClusterRetryRequested');
  let additions = requested.reduce(nodeRequestsAfter, NO_NODE_REQUESTS);
  return (event) => {
    if (ENDED.has(event.type)) return true;
    if (event.type === 'ClusterReady') isCreated = true;
    if (event.type !== 'NodesRequested') additions = nodeRequestsAfter(additions, event);
    if (upgrade !== undefined && isEndOf(upgrade, event)) isUpgraded = true;
    if (event.type === 'VmDeleted') leaving.delete(event.data.name);
    if (event.type === 'NodeRemovalCancelled') leaving.delete(event.data.node);
    return isCreated && isUpgraded && !isGrowing(additions) && leaving.size === 0;
  };
};

const locationOf = ({ namespace, cluster }: ClusterAddress, events: readonly StoredEvent[]): string => {
  const path = `/ns/${namespace}/clusters/${cluster}`;
  const first = events.find(isOperation);
  if (first === undefined) return `${path}/manifest`;
  return first.type === 'ClusterRequested' ? path : `${path}/operations/${first.meta.id}`;
};

/** Answers changes of manifests: 200 when there is nothing to wait for, else as every command. */
@Injectable()
export class ChangeAnswers {
  constructor(@Inject(CommandAnswers) private readonly answers: CommandAnswers) {}

  async of<View>(exchange: Exchange, address: ClusterAddress, applied: AppliedManifest, view: View): Promise<View> {
    const { decided } = applied;
    const { events } = decided;
    const isCreated = events.some(({ type }) => type === 'ClusterRequested');
    if (!events.some(isOperation)) {
      showSeq(exchange.response, decided.seq);
      exchange.response.status(200);
      return view;
    }
    return this.answers.respond(exchange, decided, {
      address,
      location: locationOf(address, events),
      isOver: endOf(events),
      done: isCreated ? 201 : 200,
      view: () => view,
    });
  }
}
