import type {
  Cause,
  ClusterUid,
  ConnectionName,
  HostBaseline,
  Namespace,
  NodeName,
  OwnHost,
  Refusal,
  ReservedMachines,
} from '@fairlead/contracts';
import type { HostKeys, SshServer } from '@fairlead/domain';

/** An incarnation of a cluster that uses the inventory of a connection. */
export interface Claim {
  readonly connection: ConnectionName;
  readonly uid: ClusterUid;
  readonly namespace: Namespace;
  readonly cluster: string;
}

/** A machine that needs a host. */
export interface DesiredHost {
  readonly machine: NodeName;
  /** `ssh.any`, or the size of a host in the inventory. */
  readonly spec: string;
  /** The preferred zone: a host elsewhere is better than none. */
  readonly zone: string | undefined;
}

/** The hosts that can be allocated now, and those that cannot for a reason other than being in use. */
export interface Candidates {
  readonly hosts: readonly OwnHost[];
  /** Hosts that do not respond or cannot become a node: `<name>: <reason>`. */
  readonly unfit: readonly string[];
  /**
   * A used host is allocated only to its last namespace: it must have been allocated to the claim's namespace after
   * this position of the log, where the namespace began. null: the connection allows any namespace.
   */
  readonly ownSince: number | null;
  /** RFC 3339: whether a booking is in the way depends on it. */
  readonly now: string;
  /** When a cluster without a booking ends; absent: never. */
  readonly endsAt?: string | undefined;
  /** The current state of each inspected host, by name. */
  readonly baselines: ReadonlyMap<string, HostBaseline>;
}

/** A host that is a machine of a cluster. */
export interface Holding {
  readonly uid: ClusterUid;
  readonly namespace: string;
  readonly cluster: string;
  readonly machine: NodeName;
  /** Its settings at allocation. */
  readonly host: OwnHost;
  /** Position of the HostsTaken in the log. */
  readonly takenSeq: number;
  /** Its state at allocation; null: it was allocated before baselines existed. */
  readonly baseline: HostBaseline | null;
}

/** The last user of a host, from its release until an administrator accepts it. */
export interface LastUse extends Pick<Holding, 'namespace' | 'takenSeq'> {
  readonly address: string;
  /** Position of its release. */
  readonly endedSeq: number;
}

/** Hosts that are booked for a cluster, from one moment to another (RFC 3339). */
export interface Booking {
  readonly uid: ClusterUid;
  readonly startsAt: string;
  readonly endsAt: string;
  readonly hosts: readonly string[];
}

/** The hosts that a cluster is to have from one moment to another. */
export interface DesiredBooking {
  /** null: now. */
  readonly startsAt: string | null;
  readonly endsAt: string;
  readonly machines: ReservedMachines;
}

/** A host key that a server of the connection presented. */
export interface SeenHostKey extends SshServer {
  readonly connection: ConnectionName;
  readonly hostKey: string;
}

/** A host that an administrator accepted as it is. */
export interface AcceptedHost {
  readonly connection: ConnectionName;
  readonly host: string;
  readonly address: string;
  /** Position of the acceptance in the log: it does not apply to later uses of the host. */
  readonly asOf: number;
}

/** The basis for trusting a host, from the log. */
export interface Trust {
  hostKeys(): Promise<HostKeys>;
  /** The position at which the namespace of that name began; Infinity: there is none. */
  namespaceSince(namespace: string): Promise<number>;
}

/** A host that could not be reset when it was released. */
export interface Withheld extends Holding {
  readonly cause: Cause;
}

/** The hosts of a connection that are in use, quarantined, or booked. All others are free. */
export interface StockView {
  readonly held: readonly Holding[];
  readonly withheld: readonly Withheld[];
  readonly bookings: readonly Booking[];
}

/** One host that a cluster releases. */
export interface GivenBack {
  readonly connection: ConnectionName;
  readonly uid: ClusterUid;
  readonly machine: NodeName;
  readonly host: string;
}

/**
 * The allocation of an inventory's hosts. Every method is idempotent; across all replicas no host has two machines, and
 * no address two clusters.
 */
export interface Stock {
  look(connection: ConnectionName): Promise<StockView>;
  /** Whether `take` could allocate that many now. Allocates nothing. */
  refusal(claim: Claim, desired: readonly DesiredHost[], candidates: Candidates): Promise<Refusal | undefined>;
  /** Allocates all of them, or refuses and allocates none. A machine keeps its host. */
  take(claim: Claim, desired: readonly DesiredHost[], candidates: Candidates): Promise<readonly Holding[] | Refusal>;
  /** Books hosts, or changes the end of the booking there is; refuses, and changes nothing, if others have them. */
  book(claim: Claim, desired: DesiredBooking, candidates: Candidates): Promise<Booking | Refusal>;
  /** Ends the booking, if any, and prevents a later one, and further allocations. */
  release(connection: ConnectionName, uid: ClusterUid): Promise<void>;
  /** The host was reset and is free. */
  giveBack(host: GivenBack): Promise<void>;
  /** The host could not be reset: it no longer belongs to its cluster, and is not allocated to another one. */
  withhold(host: GivenBack, cause: Cause): Promise<void>;
  /** A quarantined host is clean. */
  readmit(connection: ConnectionName, host: string): Promise<void>;
  /** An administrator accepts the host as it is; a host in use remains with its cluster. */
  accept(host: AcceptedHost): Promise<void>;
  /** Pins the key unless another one is pinned. Returns the pinned one. */
  pin(seen: SeenHostKey): Promise<string>;
  /** Allocates one of the addresses to this cluster, or returns the one that it has. */
  takeAddress(claim: Claim, addresses: readonly string[]): Promise<string | Refusal>;
  /** Whether `takeAddress` could allocate one now. Allocates nothing. */
  addressRefusal(claim: Claim, addresses: readonly string[]): Promise<Refusal | undefined>;
  /** The addresses that no cluster has; empty if the claim already has one. */
  freeAddresses(claim: Claim, addresses: readonly string[]): Promise<readonly string[]>;
  returnAddress(claim: Claim): Promise<void>;
  /** Prevents further allocations for the claim. */
  close(claim: Claim): Promise<void>;
}
