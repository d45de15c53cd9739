import { createHash } from 'node:crypto';

/** A member of the simulated etcd, as `etcdctl member list` and `endpoint status` would report it. */
export interface EtcdMember {
  /** Sixteen hex digits. */
  readonly id: string;
  readonly name: string;
  readonly peerUrl: string;
  readonly clientUrl: string;
  readonly running: boolean;
}

export interface EtcdMemberReport extends EtcdMember {
  readonly leader: boolean;
  readonly learner: false;
  /** `3.6.4`, as the control plane's static pod has it. */
  readonly version: string;
  readonly dbSizeBytes: number;
}

/** What the rest of the cluster knows about its etcd. */
export interface EtcdFacts {
  readonly versionOf: (member: string) => string;
  readonly dbSizeBytes: number;
}

/** The members of a cluster's etcd and whether enough of them run. A cluster without members is not watched for quorum. */
export class EtcdMembers {
  private forced: boolean | undefined;
  private elected: string | undefined;

  constructor(private members: readonly EtcdMember[] = []) {}

  list({ versionOf, dbSizeBytes }: EtcdFacts): readonly EtcdMemberReport[] {
    const leader = this.leader();
    return this.members.map((member) => {
      const version = versionOf(member.name);
      return { ...member, leader: member.name === leader, learner: false, version, dbSizeBytes };
    });
  }

  /** The name of the member that leads; undefined without quorum. A leader keeps its office until it stops. */
  leader(): string | undefined {
    if (!this.hasQuorum()) return undefined;
    const running = this.members.filter((member) => member.running).map(({ name }) => name);
    if (this.elected === undefined || !running.includes(this.elected)) this.elected = running[0];
    return this.elected;
  }

  /** `etcdctl move-leader`. False when that member cannot lead. */
  moveLeader(name: string): boolean {
    if (!this.hasQuorum() || !this.members.some((member) => member.name === name && member.running)) return false;
    this.elected = name;
    return true;
  }

  stored(): readonly EtcdMember[] {
    return this.members;
  }

  /** Adds a member under its node's name; `url` is its peer URL. Adding a known name replaces it. */
  add(name: string, url: string): void {
    const id = createHash('sha256').update(`${name} ${url}`).digest('hex').slice(0, 16);
    const clientUrl = url.replace(/:2380$/, ':2379');
    this.members = [...this.without(name), { id, name, peerUrl: url, clientUrl, running: true }];
  }

  remove(name: string): void {
    this.members = this.without(name);
  }

  setRunning(name: string, running: boolean): void {
    this.members = this.members.map((member) => (member.name === name ? { ...member, running } : member));
  }

  /** For labs that keep their own account of etcd: overrides what the members say until `undefined` is given. */
  force(quorum: boolean | undefined): void {
    this.forced = quorum;
  }

  /** More than half of all members run. */
  hasQuorum(): boolean {
    if (this.forced !== undefined) return this.forced;
    if (this.members.length === 0) return true;
    return this.members.filter(({ running }) => running).length >= Math.floor(this.members.length / 2) + 1;
  }

  private without(name: string): readonly EtcdMember[] {
    return this.members.filter((member) => member.name !== name);
  }
}
