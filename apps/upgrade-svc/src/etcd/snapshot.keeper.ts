import {
  oldestVersion,
  parseVersion,
  streamSubject,
  ExternalFailure,
  type EventData,
  type NodeName,
} from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import type { SecretStore } from '@fairlead/service-kit';
import { snapshotKeyRef, type SnapshotStore } from '@fairlead/service-kit/snapshots';
import type { PodView, UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import { versionOfImage } from '../kubernetes/image.version.js';
import { Etcd } from './etcd.effects.js';

export type TakenSnapshot = Pick<
  EventData<'EtcdSnapshotTaken'>,
  'node' | 'sha256' | 'bytes' | 'revision' | 'keys' | 'dataRef' | 'kubernetesVersion' | 'etcdVersion'
>;

const API_SERVER = 'kube-apiserver';

/** The version of the oldest API server, because the last writes may be from it. */
const kubernetesVersionOf = (staticPods: readonly PodView[]): string | undefined => {
  const images = staticPods.filter(({ labels }) => labels['component'] === API_SERVER).map(({ image }) => image);
  const oldest = oldestVersion(images.map(versionOfImage).filter((version) => parseVersion(version) !== undefined));
  return oldest === undefined ? undefined : `v${oldest}`;
};

/** The cluster of the snapshots. */
export interface Owner {
  readonly namespace: string;
  readonly cluster: string;
  readonly uid: string;
}

export interface KeeperParts {
  readonly snapshots: SnapshotStore;
  readonly secrets: Pick<SecretStore, 'destroyKey'>;
  readonly store: EventStore;
  /** The limit for one snapshot. Counted here too, because a node's report cannot be trusted. */
  readonly bytesMax: number;
}

/** Takes snapshots, deletes expired ones, and destroys those of deleted clusters. */
export class SnapshotKeeper {
  /** The last waiting or running snapshot, by cluster UID. All tasks of a cluster run in one replica. */
  private readonly turns = new Map<string, Promise<void>>();

  constructor(private readonly parts: KeeperParts) {}

  /**
   * Saves a snapshot under this name, replacing an existing one. Snapshots of a cluster are taken one after another,
   * because each needs disk space on a control plane.
   */
  async save(cluster: UpgradeCluster, snapshot: string, owner: Owner, signal: AbortSignal): Promise<TakenSnapshot> {
    const taken = (this.turns.get(owner.uid) ?? Promise.resolve()).then(async () => {
      signal.throwIfAborted();
      return this.saveNow(cluster, snapshot, owner, signal);
    });
    const turn = taken.then(
      () => undefined,
      () => undefined,
    );
    this.turns.set(owner.uid, turn);
    try {
      return await taken;
    } finally {
      if (this.turns.get(owner.uid) === turn) this.turns.delete(owner.uid);
    }
  }

  private async saveNow(
    cluster: UpgradeCluster,
    snapshot: string,
    { uid }: Owner,
    signal: AbortSignal,
  ): Promise<TakenSnapshot> {
    const etcd = new Etcd(cluster, signal);
    const facts = await etcd.facts(await cluster.nodes());
    this.refuseLarger(Math.max(...facts.members.map(({ dbBytes }) => dbBytes)), snapshot);
    const writer = await this.parts.snapshots.open(snapshot, uid);
    let received = 0;
    try {
      const { node, revision, totalKey } = await etcd.snapshot(facts, (chunk) => {
        received += chunk.length;
        this.refuseLarger(received, snapshot);
        return writer.write(chunk);
      });
      const { sha256, bytes } = await writer.seal();
      const kubernetesVersion = kubernetesVersionOf(await cluster.staticPods());
      const etcdVersion = facts.members.find((member) => member.node === node)?.version;
      return {
        ...{ node: node as NodeName, sha256, bytes, revision, keys: totalKey, dataRef: snapshotKeyRef(snapshot) },
        ...(kubernetesVersion === undefined ? {} : { kubernetesVersion }),
        ...(etcdVersion === undefined || etcdVersion === '' ? {} : { etcdVersion }),
      };
    } catch (error) {
      await writer.discard();
      throw error;
    }
  }

  private refuseLarger(bytes: number, snapshot: string): void {
    const { bytesMax } = this.parts;
    if (bytes <= bytesMax) return;
    throw new ExternalFailure({
      operation: 'keep a snapshot of etcd',
      target: snapshot,
      message: `the snapshot has at least ${bytes} bytes, more than the limit of ${bytesMax} (ETCD_SNAPSHOT_MAX_MIB of upgrade-svc). Compact and defragment etcd, or raise the limit`,
      retryable: false,
    });
  }

  delete(snapshot: string): Promise<void> {
    return this.parts.snapshots.delete(snapshot);
  }

  /** Destroys the cluster's key, which makes its snapshots unreadable in any backup, and then deletes their data. */
  async forget(owner: Owner): Promise<void> {
    await this.parts.secrets.destroyKey(owner.uid);
    for (const name of await this.taken(owner)) await this.parts.snapshots.delete(name);
  }

  /** Oldest first. */
  private async taken({ namespace, cluster, uid }: Owner): Promise<readonly string[]> {
    const subject = `${streamSubject({ namespace, cluster, context: 'rollout' })}.EtcdSnapshotTaken`;
    const read = await this.parts.store.read(subject, 0);
    return read.flatMap(({ event }) =>
      event.type === 'EtcdSnapshotTaken' && event.data.uid === uid ? [event.data.snapshot] : [],
    );
  }
}
