import type {
  Cause,
  ClusterUid,
  HealthCheck,
  MachinePlan,
  NodeCondition,
  NodeName,
  NodeRole,
  RemediationAction,
  SkipReason,
  SuspensionReason,
} from '@fairlead/contracts';
import {
  newMember as newClusterMember,
  type EtcdSaves,
  type Member as ClusterMember,
  type Members,
} from '@fairlead/domain';
import type { Lifecycle } from '../lifecycle/lifecycle.evolve.js';

/** A member, and since when it is well or not. Surge machines are none: they are not remediated. */
export interface Member extends ClusterMember {
  /** Since when its machine exists; null: it is planned. */
  readonly createdAt: string | null;
  /** The private address with which it joined; null: its machine has none yet. */
  readonly address: string | null;
  /** The private address that its machine has instead; null: it still has that one. */
  readonly movedTo: string | null;
  /** Since when it is well; null: it is not. */
  readonly wellSince: string | null;
  /** Since when it is not Ready, lost, missing or moved; null: it is well, or never was. */
  readonly unwellSince: string | null;
  /** How long it had been well until then. */
  readonly wellForMs: number;
  /** The conditions of its Node beside Ready, and since when they are so; absent: none were stated. */
  readonly conditions?: Readonly<Record<string, { readonly status: NodeCondition['status']; readonly since: string }>>;
  /** Its request failed, and its user wants to look at it. */
  readonly kept: boolean;
  /** The request by which someone reboots or drains it; null: none. */
  readonly actedBy: string | null;
  /** Remediations of it and of the nodes that it replaced; null: none. */
  readonly tried: Tried | null;
  /** Why it stays as it is, as it was stated. */
  readonly skipped: SkipReason | null;
}

/** Someone removes, replaces, reboots or drains it; an open remediation counts, too. */
export const isChangedByOthers = ({ leaving, replacedBy, actedBy }: Member): boolean =>
  leaving || replacedBy !== null || actedBy !== null;

export interface Tried {
  readonly attempt: number;
  readonly action: RemediationAction;
  readonly at: string;
}

/** A remediation that has not ended. */
export interface Open {
  readonly requestId: string;
  readonly node: NodeName;
  readonly pool: string;
  readonly role: NodeRole;
  readonly action: RemediationAction;
  readonly attempt: number;
  readonly startedAt: string;
  /** The snapshot of etcd that its reboot waits for; absent: none. */
  readonly awaitedSnapshot?: string;
  /** When that was taken or could not be: its time begins then. Absent: it waited for none. */
  readonly savedAt?: string;
  /** What others say of it. */
  readonly failed: Cause | null;
  /** The machine that takes its place. */
  readonly replacement: NodeName | null;
}

export interface Known extends Lifecycle {
  readonly status: 'known';
  readonly uid: ClusterUid;
  /** By pool, also of control planes. */
  readonly checks: Readonly<Record<string, HealthCheck>>;
  readonly members: Members<Member>;
  /** By request. */
  readonly open: Readonly<Record<string, Open>>;
  /** How many were requested so far: names the next one. */
  readonly requests: number;
  /** Pools of which it was stated that none of their nodes is remediated. */
  readonly suspended: Readonly<Record<string, SuspensionReason>>;
  /** Nothing was done while the cluster was paused: time limits start again from here; null: it never was. */
  readonly resumedAt: string | null;
  readonly saves: EtcdSaves;
  /** By node, the reboot that its agent may carry out. */
  readonly permitted: Readonly<Record<string, string>>;
}

export type Remediation = { readonly status: 'absent' } | Known;

export const ABSENT: Remediation = { status: 'absent' };

/** Since when a time limit runs that began then. */
export const limitedSince = ({ resumedAt }: Pick<Known, 'resumedAt'>, since: string): string =>
  resumedAt !== null && resumedAt > since ? resumedAt : since;

const REQUEST_PREFIX = 'remediation-';

export const nextRequestId = ({ requests }: Known): string => `${REQUEST_PREFIX}${requests + 1}`;

/** Whether a change that is desired of a node is a reboot of ours. */
export const isOurs = (changeId: string | undefined): changeId is string =>
  changeId?.startsWith(REQUEST_PREFIX) === true;

export const newMember = (plan: Pick<MachinePlan, 'name' | 'role' | 'pool'>): Member => ({
  ...newClusterMember(plan),
  createdAt: null,
  address: null,
  movedTo: null,
  wellSince: null,
  unwellSince: null,
  wellForMs: 0,
  kept: false,
  actedBy: null,
  tried: null,
  skipped: null,
});
