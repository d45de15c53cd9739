import { createHash } from 'node:crypto';

export type EtcdAlarm = 'NOSPACE' | 'CORRUPT';

/** A member of the simulated etcd, as `etcdctl member list` and `endpoint status` would report it. */
export interface EtcdMember {
  /** Sixteen hex digits. */
  readonly id: string;
  readonly name: string;
  readonly peerUrl: string;
  readonly clientUrl: string;
  readonly running: boolean;
  /** The token of the etcd that it has joined after its restore; absent: it is older. */
  readonly token?: string;
  readonly learner?: boolean;
  readonly alarm?: EtcdAlarm;
  /** How many entries of the log it has not applied yet. */
  readonly behind?: number;
  /** Someone has written by the API of v2. */
  readonly v2Content?: boolean;
}

export interface EtcdMemberReport extends EtcdMember {
  readonly leader: boolean;
  readonly learner: boolean;
  /** `3.6.8`: what the server in the control plane's static pod reports of itself. */
  readonly version: string;
  readonly dbSizeBytes: number;
}

/** The etcd of a cluster, as the rest of the cluster sees it. */
export interface EtcdFacts {
  readonly versionOf: (member: string) => string;
  readonly dbSizeBytes: number;
}

/** The state of a member, and the faults that can be set. */
export type EtcdMemberChange = Partial<Pick<EtcdMember, 'running' | 'token' | 'learner' | 'behind' | 'v2Content'>> & {
  readonly alarm?: EtcdAlarm | null;
};

/** The members of a cluster's etcd and whether enough of them run. A cluster without members is not watched for quorum. */
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

  /** The name of the member that leads; undefined without quorum. A leader keeps its office until it stops. */
  leader(): string | undefined {
    if (!this.hasQuorum()) return undefined;
    const eligible = this.members.filter(canLead).map(({ name }) => name);
    if (this.elected === undefined || !eligible.includes(this.elected)) this.elected = eligible[0];
    return this.elected;
  }

  /** `etcdctl move-leader`. False when that member cannot lead. */
  moveLeader(name: string): boolean {
    if (!this.hasQuorum() || !this.members.some((member) => member.name === name && canLead(member))) return false;
    this.elected = name;
    return true;
  }

  stored(): readonly EtcdMember[] {
    return this.members;
  }

  /** Adds a member under its node's name; `url` is its peer URL. Adding an existing name replaces it. */
  add(name: string, url: string): void {
    this.members = [...this.without(name), newMember(name, url)];
  }

  remove(name: string): void {
    this.members = this.without(name);
  }

  /** `etcdctl member add --learner`: it has no name before it starts. False: there is a member at that peer URL. */
  announce(url: string): boolean {
    if (this.members.some(({ peerUrl }) => peerUrl === url)) return false;
    this.members = [...this.members, { ...newMember('', url), clientUrl: '', running: false, learner: true }];
    return true;
  }

  /** A member that was announced starts for the first time. */
  appear(name: string, url: string): void {
    this.members = this.members.map((member) =>
      member.name === '' && member.peerUrl === url ? { ...newMember(name, url), id: member.id, learner: true } : member,
    );
  }

  /** The members that a restored etcd begins with; those of `started` run. */
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

  /** More than half of all voting members run. */
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
