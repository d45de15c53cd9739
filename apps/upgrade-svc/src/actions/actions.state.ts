import type { Cause, ClusterUid, DrainPolicy, NodeActionKind, PostponedReason } from '@fairlead/contracts';
import type { EtcdSaves, HookState, Member as ClusterMember, Members } from '@fairlead/domain';
import type { Lifecycle } from '../lifecycle/lifecycle.evolve.js';

export interface Member extends ClusterMember {
  /** The boot that its agent reported last; null: none. */
  readonly bootId: string | null;
  /** When that boot began, by the clock of the node; null: it did not say. */
  readonly bootedAt: string | null;
  /** The remediation that reboots it; null: none. */
  readonly rebootedBy: string | null;
}

/** Something else is done to it than what is asked here. */
export const isChanging = ({ leaving, replacedBy, rebootedBy }: Member): boolean =>
  leaving || replacedBy !== null || rebootedBy !== null;

/** How far a request is on one of its nodes. A node that is through is not listed any more. */
export interface Progress {
  /** The boot that was known when it was requested. */
  readonly bootId: string | null;
  /** Since when its turn is; null: it waits. */
  readonly startedAt: string | null;
  readonly postponed: PostponedReason | null;
  /** Whether the request cordoned it; null: not yet. */
  readonly cordoned: boolean | null;
  readonly drained: boolean;
  /** The refusals of evictions that were stated last. */
  readonly refusals: readonly string[];
  readonly uncordoned: boolean;
  /** The snapshot of etcd that its reboot waits for; absent: none. */
  readonly awaitedSnapshot?: string;
  /** The revision of the desired state that asks for the reboot; null: none does. */
  readonly askedRevision: number | null;
  /** Since when its agent reboots it; null: it does not. */
  readonly rebootingSince: string | null;
  /** By a reboot of this request, or by one that came before; null: not yet. */
  readonly booted: 'ordered' | 'before' | null;
  /** Ready since it has booted. */
  readonly readyAgain: boolean;
  /** Its agent gave up. */
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
  rebootingSince: null,
  booted: null,
  readyAgain: false,
  failure: null,
};

/** A request with nodes that are not through. */
export interface Open {
  readonly requestId: string;
  readonly action: NodeActionKind;
  readonly requestedAt: string;
  readonly drain: boolean;
  readonly drainTimeoutSeconds: number;
  readonly maxUnavailable: number;
  readonly expiresAt: string;
  readonly cancelled: boolean;
  /** A node of it failed. */
  readonly failed: boolean;
  /** In the order in which they begin. */
  readonly nodes: Readonly<Record<string, Progress>>;
}

/** A cordon of ours that stands. */
export interface Cordon {
  readonly requestId: string;
  /** It stays until someone asks for its end. */
  readonly stays: boolean;
}

export interface Known extends Lifecycle {
  readonly status: 'known';
  readonly uid: ClusterUid;
  readonly members: Members<Member>;
  /** In the order of their requests. */
  readonly open: Readonly<Record<string, Open>>;
  /** By node. */
  readonly cordons: Readonly<Record<string, Cordon>>;
  /** By node, the request whose reboot its agent may carry out. */
  readonly permitted: Readonly<Record<string, string>>;
  readonly saves: EtcdSaves;
  /** How pods leave, as the manifest declares it. */
  readonly drainPolicy: DrainPolicy;
  /** Those of its drains; absent: no manifest declares any. */
  readonly hooks?: HookState;
}

export type Actions = { readonly status: 'absent' } | Known;

export const ABSENT: Actions = { status: 'absent' };

/** Whether the node is drained for the request. */
export const drains = ({ action, drain }: Pick<Open, 'action' | 'drain'>): boolean =>
  action === 'drain' || (action === 'reboot' && drain);

/** Whether the node takes no new pods for the request. */
export const cordons = (open: Pick<Open, 'action' | 'drain'>): boolean => open.action === 'cordon' || drains(open);

/** Whether fewer nodes serve while the request is under way on one. */
export const takesDown = ({ action }: Pick<Open, 'action'>): boolean => action === 'reboot' || action === 'drain';
