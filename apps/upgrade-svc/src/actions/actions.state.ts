import {
  changesNode,
  type Cause,
  type ClusterUid,
  type DrainPolicy,
  type NodeActionKind,
  type PostponedReason,
} from '@fairlead/contracts';
import type { EtcdSaves, HookState, Member as ClusterMember, Members } from '@fairlead/domain';
import type { Lifecycle } from '../lifecycle/lifecycle.evolve.js';

export interface Member extends ClusterMember {
  /** The boot that its agent last reported; null: none. */
  readonly bootId: string | null;
  /** When that boot began, by the clock of the node; null: not reported. */
  readonly bootedAt: string | null;
  /** The remediation that reboots it; null: none. */
  readonly rebootedBy: string | null;
}

/** Whether another operation changes the node. */
export const isChanging = ({ leaving, replacedBy, rebootedBy }: Member): boolean =>
  leaving || replacedBy !== null || rebootedBy !== null;

/** The progress of a request on one of its nodes. Finished nodes are removed. */
export interface Progress {
  /** The boot that was known when it was requested. */
  readonly bootId: string | null;
  /** When it began; null: it waits. */
  readonly startedAt: string | null;
  readonly postponed: PostponedReason | null;
  /** Whether the request cordoned it; null: not yet. */
  readonly cordoned: boolean | null;
  readonly drained: boolean;
  /** The last stated refusals of evictions. */
  readonly refusals: readonly string[];
  readonly uncordoned: boolean;
  /** The etcd snapshot for which its reboot waits; absent: none. */
  readonly awaitedSnapshot?: string;
  /** The revision of the desired state that requests the change; null: none. */
  readonly askedRevision: number | null;
  /** Since when its agent changes it; null: it does not. */
  readonly changingSince: string | null;
  /** Whether it booted through this request or before it; null: not yet. */
  readonly booted: 'ordered' | 'before' | null;
  /** Whether it has been Ready since it was changed. */
  readonly readyAgain: boolean;
  /** The agent has given up. */
  readonly failure: Cause | null;
}

export const NEW_PROGRESS: Progress = {
  bootId: null,
  startedAt: null,
  postponed: null,
  cordoned: null,
  drained: false,
  refusals: [],
  uncordoned: false,
  askedRevision: null,
  changingSince: null,
  booted: null,
  readyAgain: false,
  failure: null,
};

/** A request with unfinished nodes. */
export interface Open {
  readonly requestId: string;
  readonly action: NodeActionKind;
  readonly requestedAt: string;
  readonly drain: boolean;
  readonly drainTimeoutSeconds: number;
  readonly maxUnavailable: number;
  readonly expiresAt: string;
  readonly cancelled: boolean;
  /** Whether one of its nodes failed. */
  readonly failed: boolean;
  /** In the order in which they begin. */
  readonly nodes: Readonly<Record<string, Progress>>;
}

/** An existing cordon of Fairlead's. */
export interface Cordon {
  readonly requestId: string;
  /** Whether it remains until its removal is requested. */
  readonly stays: boolean;
}

export interface KnownActions extends Lifecycle {
  readonly status: 'known';
  readonly uid: ClusterUid;
  readonly members: Members<Member>;
  /** In the order of their requests. */
  readonly open: Readonly<Record<string, Open>>;
  /** By node. */
  readonly cordons: Readonly<Record<string, Cordon>>;
  /** The request whose change the agent may make, by node. */
  readonly permitted: Readonly<Record<string, string>>;
  readonly saves: EtcdSaves;
  /** The drain policy in the manifest. */
  readonly drainPolicy: DrainPolicy;
  /** The hooks of its drains; absent: none is declared. */
  readonly hooks?: HookState;
}

export type Actions = { readonly status: 'absent' } | KnownActions;

export const ABSENT: Actions = { status: 'absent' };

/** Whether the request drains the node. */
export const drains = ({ action, drain }: Pick<Open, 'action' | 'drain'>): boolean =>
  action === 'drain' || (changesNode(action) && drain);

/** Whether the request makes the node unschedulable. */
export const cordons = (open: Pick<Open, 'action' | 'drain'>): boolean => open.action === 'cordon' || drains(open);
