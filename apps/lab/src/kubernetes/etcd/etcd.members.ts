import { createHash } from 'node:crypto';

export type EtcdAlarm = 'NOSPACE' | 'CORRUPT';

/** A member of the simulated etcd, as reported by `etcdctl member list` and `endpoint status`. */
export interface EtcdMember {
  /** 16 hex digits. */
  readonly id: string;
  readonly name: string;
  readonly peerUrl: string;
  readonly clientUrl: string;
  readonly running: boolean;
  /** The token of the etcd that it joined in a restore; absent: it was never restored. */
  readonly token?: string;
  readonly learner?: boolean;
  readonly alarm?: EtcdAlarm;
  /** How many log entries it has not applied yet. */
  readonly behind?: number;
  /** Whether data was written through the v2 API. */
  readonly v2Content?: boolean;
}

export interface EtcdMemberReport extends EtcdMember {
  readonly leader: boolean;
  readonly learner: boolean;
  /** The version that the server in the control plane's static pod reports, e.g. `3.6.8`. */
  readonly version: string;
  readonly dbSizeBytes: number;
}

/** Properties of a cluster's etcd that other parts of the cluster provide. */
export interface EtcdFacts {
  readonly versionOf: (member: string) => string;
  readonly dbSizeBytes: number;
}

/** Changes to a member's state, including faults. */
export type EtcdMemberChange = Partial<Pick<EtcdMember, 'running' | 'token' | 'learner' | 'behind' | 'v2Content'>> & {
  readonly alarm?: EtcdAlarm | null;
};

/** The members of a cluster's etcd and whether they have quorum. A cluster without members always has it. */
export class EtcdMembers {
  private elected: string | undefined;

  constructor(private members: readonly EtcdMember[] = []) {}

  list({ versionOf, dbSizeBytes }: EtcdFacts): readonly EtcdMemberReport[] {
    const leader = this.leader();
    return this.members.map((member) => {
      const version = versionOf(member.name);
      const learner = member.learner ?? false;
      return { ...member, leader: member.name === leader, learner, version, dbSizeBytes };
    });
  }

  /** The name of the leader; undefined without quorum. A leader remains elected until it stops. */
  leader(): string | undefined {
    if (!this.hasQuorum()) return undefined;
    const eligible = this.members.filter(canLead).map(({ name }) => name);
    if (this.elected === undefined || !eligible.includes(this.elected)) this.elected = eligible[0];
    return this.elected;
  }

  /** `etcdctl move-leader`. Returns false if that member cannot lead. */
  moveLeader(name: string): boolean {
    if (!this.hasQuorum() || !this.members.some((member) => member.name === name && canLead(member))) return false;
    this.elected = name;
    return true;
  }

  stored(): readonly EtcdMember[] {
    return this.members;
  }

  /** Adds a member under its node's name, or replaces it; `url` is its peer URL. */
  add(name: string, url: string): void {
    this.members = [...this.without(name), newMember(name, url)];
  }

  remove(name: string): void {
    this.members = this.without(name);
  }

  /**
   * `etcdctl member add --learner`: the member has no name until it starts. Returns false if the peer URL is already in
   * use.
   */
  announce(url: string): boolean {
    if (this.members.some(({ peerUrl }) => peerUrl === url)) return false;
    this.members = [...this.members, { ...newMember('', url), clientUrl: '', running: false, learner: true }];
    return true;
  }

  /** Called when an announced member starts for the first time. */
  appear(name: string, url: string): void {
    this.members = this.members.map((member) =>
      member.name === '' && member.peerUrl === url ? { ...newMember(name, url), id: member.id, learner: true } : member,
    );
  }

  /** Sets the initial members of a restored etcd; those in `started` run. */
  begin(members: ReadonlyMap<string, string>, started: ReadonlySet<string>): void {
    this.members = [];
    this.elected = undefined;
    for (const [name, url] of members) {
      this.add(name, url);
      this.set(name, { running: started.has(name) });
    }
  }

  set(name: string, { alarm, ...change }: EtcdMemberChange): void {
    this.members = this.members.map((member) => {
      if (member.name !== name) return member;
      const { alarm: before, ...rest } = member;
      const raised = alarm === undefined ? before : (alarm ?? undefined);
      return { ...rest, ...change, ...(raised === undefined ? {} : { alarm: raised }) };
    });
  }

  /** Whether a majority of the voting members runs. */
  hasQuorum(): boolean {
    if (this.members.length === 0) return true;
    const voting = this.members.filter(({ learner }) => learner !== true);
    return voting.filter(({ running }) => running).length >= Math.floor(voting.length / 2) + 1;
  }

  private without(name: string): readonly EtcdMember[] {
    return this.members.filter((member) => member.name !== name);
  }
}

const newMember = (name: string, peerUrl: string): EtcdMember => ({
  id: createHash('sha256').update(`${name} ${peerUrl}`).digest('hex').slice(0, 16),
  name,
  peerUrl,
  clientUrl: peerUrl.replace(/:2380$/, ':2379'),
  running: true,
});

const canLead = ({ running, learner }: EtcdMember): boolean => running && learner !== true;
