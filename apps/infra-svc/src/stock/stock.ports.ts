import type {
  Cause,
  ClusterUid,
  ConnectionName,
  HostBaseline,
  Namespace,
  NodeName,
  OwnHost,
  Refusal,
} from '@fairlead/contracts';
import type { HostKeys, SshServer } from '@fairlead/domain';

/** An incarnation of a cluster that uses the stock of a connection. */
export interface Claim {
  readonly connection: ConnectionName;
  readonly uid: ClusterUid;
  readonly namespace: Namespace;
  readonly cluster: string;
}

/** A machine for which a host is desired. */
export interface DesiredHost {
  readonly machine: NodeName;
  /** `ssh.any`, or the size that a host of the inventory names as its own. */
  readonly spec: string;
  /** Where it would best be: a host elsewhere is taken rather than none. */
  readonly zone: string | undefined;
}

/** The hosts that could be taken now, and those of the inventory that could not for another reason than being in use. */
export interface Candidates {
  readonly hosts: readonly OwnHost[];
  /** Those that do not answer or cannot become a node: `<name>: <why>`. */
  readonly unfit: readonly string[];
  /**
   * A host that was used before is given to its last namespace only: taken by the name of the claim's namespace after this
   * position of the log, where the namespace began. null: the connection gives hosts to any namespace.
   */
  readonly ownSince: number | null;
  /** What each host that was looked at is like now, by its name. */
  readonly baselines: ReadonlyMap<string, HostBaseline>;
}

/** A host that is a machine of a cluster. */
export interface Holding {
  readonly uid: ClusterUid;
  readonly namespace: string;
  readonly cluster: string;
  readonly machine: NodeName;
  /** As it was when it was taken. */
  readonly host: OwnHost;
  /** Position of the HostsTaken in the log. */
  readonly takenSeq: number;
  /** What it was like then; null: it was taken before there were baselines. */
  readonly baseline: HostBaseline | null;
}

/** Who had a host last, from when it is given back until an administrator accepts it. */
export interface LastUse extends Pick<Holding, 'namespace' | 'takenSeq'> {
  readonly address: string;
  /** Position at which it was given back. */
  readonly endedSeq: number;
}

/** A host key that a server of the connection has shown. */
export interface SeenHostKey extends SshServer {
  readonly connection: ConnectionName;
  readonly hostKey: string;
}

/** A host that an administrator accepted as it is. */
export interface AcceptedHost {
  readonly connection: ConnectionName;
  readonly host: string;
  readonly address: string;
  /** Position of the acceptance in the log: later uses of the host are not accepted by it. */
  readonly asOf: number;
}

/** What decides whether a host may be trusted: the log as it is now. */
export interface Trust {
  hostKeys(): Promise<HostKeys>;
  /** Position at which the namespace of that name began; Infinity: there is none. */
  namespaceSince(namespace: string): Promise<number>;
}

/** A host that could not be reset when it was given back. */
export interface Withheld extends Holding {
  readonly cause: Cause;
}

/** Who uses what of a connection. What is in neither list is free. */
export interface StockView {
  readonly held: readonly Holding[];
  readonly withheld: readonly Withheld[];
}

/** One host that a cluster gives back. */
export interface GivenBack {
  readonly connection: ConnectionName;
  readonly uid: ClusterUid;
  readonly machine: NodeName;
  readonly host: string;
}

/**
 * The memory of who uses which host of an inventory. Every method may be called again after a crash, with the same outcome;
 * over all replicas no host has two machines, and no address two clusters.
 */
export interface Stock {
  look(connection: ConnectionName): Promise<StockView>;
  /** Could `take` give that many now? Nothing is taken. */
  refusal(claim: Claim, desired: readonly DesiredHost[], candidates: Candidates): Promise<Refusal | undefined>;
  /** All of them, or a refusal and none. A machine that has a host keeps it. */
  take(claim: Claim, desired: readonly DesiredHost[], candidates: Candidates): Promise<readonly Holding[] | Refusal>;
  /** The host was reset and is free. */
  giveBack(host: GivenBack): Promise<void>;
  /** It could not be reset: its cluster has lost it, and no other cluster gets it. */
  withhold(host: GivenBack, cause: Cause): Promise<void>;
  /** A host that was kept out is clean. */
  readmit(connection: ConnectionName, host: string): Promise<void>;
  /** An administrator accepts the host as it is; a host in use stays with its cluster. */
  accept(host: AcceptedHost): Promise<void>;
  /** Pins the key unless another one is pinned. Answers the one that is pinned now. */
  pin(seen: SeenHostKey): Promise<string>;
  /** One of the addresses, for this cluster alone; the one that it has already, where it has one. */
  takeAddress(claim: Claim, addresses: readonly string[]): Promise<string | Refusal>;
  /** Would `takeAddress` give one now? Nothing is taken. */
  addressRefusal(claim: Claim, addresses: readonly string[]): Promise<Refusal | undefined>;
  /** Those of the addresses that no cluster has; none once the claim has one. */
  freeAddresses(claim: Claim, addresses: readonly string[]): Promise<readonly string[]>;
  returnAddress(claim: Claim): Promise<void>;
  /** From here on the claim gets nothing. */
  close(claim: Claim): Promise<void>;
}
