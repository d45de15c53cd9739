import type {
  AddonView,
  ClusterPhase,
  EtcdBackups,
  LeaseView,
  NodeNetworkView,
  NodeRole,
  NodeView,
  OperationKind,
  UnsignedHook,
  UpgradePhase,
} from '@fairlead/contracts';
import type { ClusterPause, ClusterIdentity, Publication, RealmSelection } from '@fairlead/domain';

/** What of a node its cluster's conditions depend on. */
export interface NodeFacts {
  readonly name: string;
  readonly role: NodeRole;
  /** Kubernetes calls it Ready, and its agent reports. */
  readonly isReady: boolean;
  readonly isLost: boolean;
  /** Its agent has announced a change of its software, and has not called it Ready since. */
  readonly isBeingChanged?: true;
  /** Its machine is gone, missing or stopped, as its provider said; absent: it is not. */
  readonly away?: { readonly since: string; readonly message: string };
  /** Its private address changed after it had joined; absent: it did not. */
  readonly moved?: { readonly from: string; readonly to: string; readonly since: string };
  /** Its drain waits for pods that do not leave; absent: it does not. */
  readonly drain?: { readonly since: string; readonly message: string };
  /** Its network configuration; absent: none is declared. */
  readonly network?: NodeNetworkView;
  /** It differs from what is desired of it; absent: it does not. */
  readonly drift?: NonNullable<NodeView['drift']>;
  /** It was Ready once: before that, it is part of a request that is not done. */
  readonly wasReady: boolean;
  readonly isRemoving: boolean;
  /** RFC 3339: when `isReady` last changed. */
  readonly since: string;
  /** Version of its kubelet; undefined: not reported. */
  readonly kubelet: string | undefined;
}

/** A declared virtual address, as its holder reports it. */
export interface AddressFacts {
  readonly name: string;
  readonly address: string;
  /** null: none says that it has the address. */
  readonly holder: string | null;
  readonly since: string | null;
  /** A node that may hold it is still being configured. */
  readonly isConfiguring: boolean;
  /** Transports whose port does not accept connections. */
  readonly unreached: readonly string[];
  /** Transports behind which no node answers. */
  readonly empty: readonly string[];
}

/** A step in progress. */
export interface StepFacts {
  readonly title: string;
  readonly startedAt: string;
  /** It is what providers are asked for. */
  readonly ofProvider: boolean;
}

export interface OperationFacts {
  readonly kind: Exclude<OperationKind, 'retry'>;
  readonly state: 'running' | 'failed';
  /** The node that is removed; null: it is about several. */
  readonly node: string | null;
  readonly message: string;
  readonly since: string;
  /** Of one that runs: the steps in progress whose time is limited, the one that began first comes first. */
  readonly steps: readonly StepFacts[];
}

/** Machines of a pool, or another end of the lease. */
export interface UnmetFacts {
  /** `pool web: 2 of its 5 machines are missing`. */
  readonly what: string;
  /** A node less than declared is a cluster that is not as declared; an end that was not moved is not. */
  readonly ofNodes: boolean;
  readonly cause: string;
  readonly since: string;
  readonly attempt: number;
  /** RFC 3339; null: an attempt is in progress. */
  readonly nextAttemptAt: string | null;
}

/** Everything that the conditions of a cluster follow from. Times are RFC 3339. */
export interface ConditionFacts {
  readonly namespace: string;
  readonly name: string;
  readonly phase: ClusterPhase;
  /** Of what failed last; empty when nothing is wrong. */
  readonly reason: string;
  readonly message: string;
  readonly createdAt: string;
  readonly changedAt: string;
  /** When the creation passed each of its stages. */
  readonly marks: { readonly [M in 'accepted' | 'machines' | 'controlPlane' | 'network' | 'ready']?: string };
  readonly pause: ClusterPause | null;
  /** When it was last resumed; null: never. */
  readonly resumedAt: string | null;
  readonly nodes: readonly NodeFacts[];
  readonly addresses: readonly AddressFacts[];
  /** The address of the API that control planes share: who holds it, and when that was last said; absent: none. */
  readonly apiAddress?: {
    readonly since: string;
    readonly holders: readonly { readonly name: string; readonly since: string }[];
  };
  /** Absent: they are not known. */
  readonly addons?: { readonly addons: readonly AddonView[]; readonly releases?: readonly AddonView[] };
  /** Those that run, and those that failed and wait for an operator. */
  readonly operations: readonly OperationFacts[];
  /** The latest that may change something. */
  readonly upgrade: {
    readonly id: string;
    readonly phase: UpgradePhase;
    readonly message: string;
    readonly since: string;
  } | null;
  /** Snapshots and restores of etcd in progress. */
  readonly etcd: readonly { readonly what: 'snapshot' | 'restore'; readonly since: string }[];
  readonly certificates: readonly { readonly node: string; readonly name: string; readonly expiresAt: string }[];
  /** Its limited lifetime: since when its end is the one that it is, and when a reservation last changed; absent: it has no end. */
  readonly lease?: LeaseView & { readonly since: string; readonly changedAt: string };
  /** Its client at an identity realm; absent: it has nothing to do with one. */
  readonly identity?: {
    readonly selection: RealmSelection | null;
    readonly has: ClusterIdentity;
    readonly since: string;
  };
  /** Its name at the tunnel; absent: it is not published. */
  readonly publication?: { readonly has: Publication; readonly since: string };
  /** The provider of its machines, where it has a cloud controller or can have none; absent: neither. */
  readonly cloud?: { readonly provider: string; readonly declared: boolean };
  /** Pools of which no node is remediated, although one is unhealthy; absent: no pool has a health check. */
  readonly health?: {
    readonly since: string;
    readonly suspended: Readonly<Record<string, { readonly message: string; readonly since: string }>>;
  };
  /** Hooks that hold a step; absent: none is declared. */
  readonly hooks?: Readonly<
    Record<
      string,
      {
        readonly hook: string;
        readonly point: string;
        readonly node: string | null;
        readonly failed: boolean;
        readonly message: string;
        readonly attempt?: number;
        readonly since: string;
        readonly nextAttemptAt: string;
      }
    >
  >;
  /** Hooks whose secret does not exist; absent: no hook names a secret. */
  readonly unsigned?: { readonly since: string; readonly hooks: readonly UnsignedHook[] };
  /** When a hook last let go; absent: none has. */
  readonly hooksLetGoAt?: string;
  /** How its snapshots by schedule are; absent: it has no schedule. */
  readonly backups?: {
    readonly policy: Pick<EtcdBackups, 'schedule'>;
    readonly since: string;
    readonly lastGoodAt?: string;
    readonly failed?: { readonly what: 'snapshot' | 'verification'; readonly message: string; readonly since: string };
  };
  /** Nodes that Kubernetes lacks, and Nodes that it has without a machine, by name; absent: none. */
  readonly presence?: {
    readonly missing: Readonly<Record<string, string>>;
    readonly strangers: Readonly<Record<string, string>>;
    /** When that last changed. */
    readonly since: string;
  };
  /** What is wrong with etcd, with what to do; absent: nothing. */
  readonly etcdProblems?: {
    readonly since: string;
    readonly problems: readonly { readonly code: string; readonly message: string; readonly help: string }[];
  };
  /** What is declared and could not be applied in Kubernetes, with the last failure of each; absent: nothing. */
  readonly unapplied?: Readonly<Record<string, { readonly since: string; readonly message: string }>>;
  /** Declared settings that were refused and are retried automatically; absent: none. */
  readonly unmet?: readonly UnmetFacts[];
  /** Services that do not process the events of the cluster. */
  readonly quarantined: readonly { readonly service: string; readonly error: string; readonly since: string }[];
  /** Connections of the cluster that could not be verified. */
  readonly unverified: readonly { readonly name: string; readonly problem: string; readonly since: string }[];
  /** Connections of the cluster of which all places are taken while tasks wait for one, in a replica of infra-svc. */
  readonly busy: readonly {
    readonly name: string;
    readonly tasks: number;
    readonly places: number;
    readonly since: string;
    readonly takenSince: string;
    readonly until: string;
  }[];
  readonly now: string;
  /** A step in progress for longer is stalled. */
  readonly stalledAfterMs: number;
}
