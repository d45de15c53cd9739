import type { ResourceRegistry } from '../resources/resource.registry.js';
import type { ObjectStore } from '../store/object.store.js';
import { EtcdMembers, type EtcdMember, type EtcdMemberChange, type EtcdMemberReport } from './etcd.members.js';
import type { EtcdUnderTool } from './etcd.tools.js';
import { RestoredMembers, type RestoredEtcd } from './restored.etcd.js';

/** A fresh etcd's file, and what a small object adds to it: rough figures, enough for a size that grows. */
const BYTES_MIN = 20 * 1024;
const BYTES_PER_WRITE = 512;

/** What survives a restart of the lab. */
export interface EtcdSnapshot {
  readonly etcd: readonly EtcdMember[];
  /** Of the restore that it came from; absent: it never was restored. */
  readonly etcdToken?: string;
  readonly revisionsSkipped?: number;
}

export interface SimulatedEtcdOptions {
  /** Of the cluster. */
  readonly name: string;
  readonly store: ObjectStore;
  readonly registry: ResourceRegistry;
  readonly state: EtcdSnapshot | undefined;
  /** What the server of a member reports as its version. */
  readonly versionOf: (member: string) => string;
  /** Called after each change; `regained`: writes are taken again. */
  readonly onChange: (quorum: { readonly regained: boolean }) => void;
}

/** What the unit of a member starts. */
export interface UnitStart {
  readonly version: string;
  readonly restored: RestoredEtcd | undefined;
}

/** The etcd of a simulated cluster: who its members are, which restore they came from, and what their tools see. Its contents are in the store. */
export class SimulatedEtcd {
  private readonly members: EtcdMembers;
  private readonly restoredMembers = new RestoredMembers();
  /** Of members that are units of their hosts. */
  private readonly unitVersions = new Map<string, string>();
  private token: string | undefined;
  /** Revisions that a restore has skipped: nothing was written with them. */
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

  /** `etcdctl move-leader`. False when that member cannot lead: it does not run, or there is no quorum. */
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

  /** A unit starts a member that was announced, or one that there is already. */
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

  /** A member whose machine is off still counts for the majority it cannot join. The rest are faults to be found by those who look. */
  set(name: string, change: EtcdMemberChange): void {
    this.change(() => this.members.set(name, change));
  }

  /** A member runs from its data folder; `restored`: what a restore has put there. */
  start(name: string, restored: RestoredEtcd | undefined): void {
    const joinedLater =
      this.token !== undefined && this.list().some((one) => one.name === name && one.token === this.token);
    if (joinedLater || restored?.token === this.token) return this.set(name, { running: true });
    // One that still has the former data finds no member of its cluster any more.
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

  /** As the tools in its containers, or on its hosts, see it. */
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
