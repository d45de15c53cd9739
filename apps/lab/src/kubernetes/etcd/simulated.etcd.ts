import type { ResourceRegistry } from '../resources/resource.registry.js';
import type { ObjectStore } from '../store/object.store.js';
import { EtcdMembers, type EtcdMember, type EtcdMemberChange, type EtcdMemberReport } from './etcd.members.js';
import type { EtcdUnderTool } from './etcd.tools.js';
import { RestoredMembers, type RestoredEtcd } from './restored.etcd.js';

/** The size of a new etcd's database, and of a small object in it. Rough figures, enough for a size that grows. */
const BYTES_MIN = 20 * 1024;
const BYTES_PER_WRITE = 512;

/** State that survives a restart of the lab. */
export interface EtcdSnapshot {
  readonly etcd: readonly EtcdMember[];
  /** The token of the last restore; absent: it was never restored. */
  readonly etcdToken?: string;
  readonly revisionsSkipped?: number;
}

export interface SimulatedEtcdOptions {
  /** The name of the cluster. */
  readonly name: string;
  readonly store: ObjectStore;
  readonly registry: ResourceRegistry;
  readonly state: EtcdSnapshot | undefined;
  /** The version that the server of a member reports. */
  readonly versionOf: (member: string) => string;
  /** Called after each change; `regained`: etcd has quorum again and accepts writes. */
  readonly onChange: (quorum: { readonly regained: boolean }) => void;
}

/** How the unit of a member starts it. */
export interface UnitStart {
  readonly version: string;
  readonly restored: RestoredEtcd | undefined;
}

/**
 * The etcd of a simulated cluster: its members, the restore that created them, and the view of its tools. Its contents
 * are in the store.
 */
export class SimulatedEtcd {
  private readonly members: EtcdMembers;
  private readonly restoredMembers = new RestoredMembers();
  /** Versions of members that run as units of their hosts. */
  private readonly unitVersions = new Map<string, string>();
  private token: string | undefined;
  /** Revisions that a restore has skipped, with which nothing was written. */
  private revisionsSkipped: number;

  constructor(private readonly options: SimulatedEtcdOptions) {
    const { state } = options;
    this.members = new EtcdMembers(state?.etcd);
    this.token = state?.etcdToken;
    this.revisionsSkipped = state?.revisionsSkipped ?? 0;
  }

  list(): readonly EtcdMemberReport[] {
    const { store, versionOf } = this.options;
    return this.members.list({
      versionOf: (member) => this.unitVersions.get(member) ?? versionOf(member),
      dbSizeBytes: BYTES_MIN + (store.currentVersion() - this.revisionsSkipped) * BYTES_PER_WRITE,
    });
  }

  hasQuorum(): boolean {
    return this.members.hasQuorum();
  }

  /** `etcdctl move-leader`. Returns false if that member cannot lead because it does not run or there is no quorum. */
  moveLeader(name: string): boolean {
    return this.members.moveLeader(name);
  }

  /** `url` is the peer URL, `https://<address>:2380`. */
  add(name: string, url: string): void {
    this.change(() => {
      this.members.add(name, url);
      this.keepToken(name);
    });
  }

  /** A unit starts an announced member, or an existing one. */
  startUnit(name: string, url: string, { version, restored }: UnitStart): void {
    this.change(() => {
      const isNew = this.list().some((member) => member.name === '' && member.peerUrl === url);
      this.members.appear(name, url);
      if (isNew) this.keepToken(name);
      this.unitVersions.set(name, version);
    });
    this.start(name, restored);
  }

  remove(name: string): void {
    this.change(() => this.members.remove(name));
  }

  /**
   * Changes the state of a member. A stopped one still counts towards the majority. The other settings are faults for
   * checks to find.
   */
  set(name: string, change: EtcdMemberChange): void {
    this.change(() => this.members.set(name, change));
  }

  /** Starts a member from its data folder; `restored` is the result of a restore, if any. */
  start(name: string, restored: RestoredEtcd | undefined): void {
    const joinedLater =
      this.token !== undefined && this.list().some((one) => one.name === name && one.token === this.token);
    if (joinedLater || restored?.token === this.token) return this.set(name, { running: true });
    // A member with the former data finds no other member of its cluster.
    if (restored === undefined) return this.set(name, { running: false });
    const started = this.restoredMembers.start(restored);
    if (started === undefined) return;
    const { store, registry } = this.options;
    this.token = restored.token;
    this.revisionsSkipped += Math.max(0, restored.revision - store.currentVersion());
    this.change(() => {
      this.members.begin(new Map(Object.entries(restored.initialCluster)), started);
      store.restore(restored.objects, restored.revision, ({ apiVersion, kind }) => registry.findKind(apiVersion, kind));
    });
  }

  stop(name: string): void {
    this.restoredMembers.stop(name);
    this.set(name, { running: false });
  }

  /** The view of tools in its containers or on its hosts. */
  underTool(): EtcdUnderTool {
    const { name, store } = this.options;
    return {
      name,
      members: () => this.list(),
      hasQuorum: () => this.hasQuorum(),
      revision: () => store.currentVersion(),
      keys: () => store.export().objects.length,
      contents: () => {
        const { version, objects } = store.export();
        return Buffer.from(JSON.stringify({ revision: version, keys: objects.length, objects }));
      },
      moveLeader: (member) => this.moveLeader(member),
      removeMember: (member) => this.remove(member),
      announce: (url) => {
        let isNew = false;
        this.change(() => (isNew = this.members.announce(url)));
        return isNew;
      },
      promote: (member) => this.set(member, { learner: false }),
    };
  }

  stored(): EtcdSnapshot {
    return {
      etcd: this.members.stored(),
      ...(this.token === undefined ? {} : { etcdToken: this.token }),
      revisionsSkipped: this.revisionsSkipped,
    };
  }

  private keepToken(name: string): void {
    if (this.token !== undefined) this.members.set(name, { token: this.token });
  }

  private change(apply: () => void): void {
    const before = this.hasQuorum();
    apply();
    this.options.onChange({ regained: !before && this.hasQuorum() });
  }
}
