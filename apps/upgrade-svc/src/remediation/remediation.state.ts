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

/** A member with its health history. Surge machines are not members: they are not remediated. */
export interface Member extends ClusterMember {
  /** When its machine was created; null: planned. */
  readonly createdAt: string | null;
  /** The private address with which it joined; null: its machine has none yet. */
  readonly address: string | null;
  /** The current private address of its machine if it has changed; null: unchanged. */
  readonly movedTo: string | null;
  /** Since when it is healthy; null: it is not. */
  readonly wellSince: string | null;
  /** Since when it is not Ready, lost, missing or moved; null: it is healthy, or never was. */
  readonly unwellSince: string | null;
  /** How long it had been healthy before that. */
  readonly wellForMs: number;
  /** The conditions of its Node other than Ready, with their start; absent: none recorded. */
  readonly conditions?: Readonly<Record<string, { readonly status: NodeCondition['status']; readonly since: string }>>;
  /** Its request failed, and its user keeps it for analysis. */
  readonly kept: boolean;
  /** Whether the power of its host can be switched; absent: it cannot. */
  readonly powered?: boolean;
  /** The request that reboots or drains it; null: none. */
  readonly actedBy: string | null;
  /** Remediation attempts for it and for the nodes that it replaced; null: none. */
  readonly tried: Tried | null;
  /** The recorded reason why it is not remediated. */
  readonly skipped: SkipReason | null;
}

/** Being removed, replaced, rebooted or drained; an open remediation counts as well. */
export const isChangedByOthers = ({ leaving, replacedBy, actedBy }: Member): boolean =>
  leaving || replacedBy !== null || actedBy !== null;

export interface Tried {
  readonly attempt: number;
  readonly action: RemediationAction;
  readonly at: string;
}

/** An open remediation. */
export interface Open {
  readonly requestId: string;
  readonly node: NodeName;
  readonly pool: string;
  readonly role: NodeRole;
  readonly action: RemediationAction;
  /** The power of its host is switched off and on: `requested` once the request is recorded. Absent: its agent reboots it. */
  readonly power?: 'due' | 'requested';
  readonly attempt: number;
  readonly startedAt: string;
  /** The etcd snapshot that its reboot waits for; absent: none. */
  readonly awaitedSnapshot?: string;
  /** When that snapshot was taken or failed, which starts the timeout. Absent: it did not wait for one. */
  readonly savedAt?: string;
  /** Its failure, as reported by others. */
  readonly failed: Cause | null;
  /** The machine that replaces the node. */
  readonly replacement: NodeName | null;
}

export interface KnownRemediation extends Lifecycle {
  readonly status: 'known';
  readonly uid: ClusterUid;
  /** By pool, control planes included. */
  readonly checks: Readonly<Record<string, HealthCheck>>;
  readonly members: Members<Member>;
  /** By request. */
  readonly open: Readonly<Record<string, Open>>;
  /** Number of requests so far, from which the next ID is derived. */
  readonly requests: number;
  /** Pools whose remediation is recorded as suspended. */
  readonly suspended: Readonly<Record<string, SuspensionReason>>;
  /** The end of the last pause, at which timeouts start again; null: the cluster was never paused. */
  readonly resumedAt: string | null;
  readonly saves: EtcdSaves;
  /** The permitted reboot, by node. */
  readonly permitted: Readonly<Record<string, string>>;
}

export type Remediation = { readonly status: 'absent' } | KnownRemediation;

export const ABSENT: Remediation = { status: 'absent' };

/** The start of a timeout, adjusted for the last pause. */
export const limitedSince = ({ resumedAt }: Pick<KnownRemediation, 'resumedAt'>, since: string): string =>
  resumedAt !== null && resumedAt > since ? resumedAt : since;

const REQUEST_PREFIX = 'remediation-';

export const nextRequestId = ({ requests }: KnownRemediation): string => `${REQUEST_PREFIX}${requests + 1}`;

/** Whether a node's desired change is a reboot requested by remediation. */
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
