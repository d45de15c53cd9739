import type {
  AdoptedMachine,
  ClusterUid,
  ConnectionName,
  EventData,
  HostChecks,
  HostProfile,
  MachineSpec,
  Namespace,
  NodeName,
  PowerAction,
  PowerState,
  Refusal,
  ReservedMachines,
  ReservedSizes,
  RootDisk,
  SecretRef,
} from '@fairlead/contracts';

/** A registered connection to a provider. */
export interface Connection {
  readonly name: ConnectionName;
  readonly provider: string;
  readonly region: string;
  /** Empty: any zone of the region. */
  readonly zone: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly secretRef: SecretRef | null;
  /**
   * Distinguishes this registration from a later one under the same name, which may have another secret behind the
   * reference.
   */
  readonly registration: string;
}

/** Operations of a provider; also the names of steps in events, and the operations of WorldFailures. */
export const PROVIDER_OPERATIONS = [
  'verify connection',
  'list specs',
  'resolve region',
  'resolve spec',
  'resolve image',
  'ensure network',
  'ensure firewall',
  'ensure SSH key',
  'delete SSH key',
  'create machines',
  'describe machines',
  'list machines',
  'delete machine',
  'delete machines',
  'ensure load balancer',
  'delete load balancer',
  'reserve machines',
  'release reservation',
  'control power',
] as const;
export type ProviderOperation = (typeof PROVIDER_OPERATIONS)[number];

export interface Capabilities {
  /** Whether the provider has its own load balancers. */
  readonly nlb: boolean;
  /** Whether its machines are a simulation, and must be called that wherever they are shown. */
  readonly simulated: boolean;
  /** For a provider with an inventory: each of its hosts. */
  readonly hosts?: readonly HostState[];
}

/** One host of an inventory. */
export interface HostState {
  readonly name: NodeName;
  /** Why it is unusable now; empty: it responds and is suitable, or is in use. */
  readonly problem: string;
  /** A recommended change, although it is suitable. */
  readonly warning?: string;
  /** What each check found; absent: the provider checks nothing. */
  readonly checks?: HostChecks;
}

export interface Region {
  readonly name: string;
  readonly zones: readonly string[];
}

export interface Network {
  readonly name: string;
  readonly subnet: string;
  readonly cidr: string;
}

export interface FirewallRule {
  readonly protocol: 'tcp' | 'udp' | 'icmp';
  /** Inclusive; null for protocols without ports. */
  readonly ports: { readonly from: number; readonly to: number } | null;
  readonly source: string;
}

export interface Firewall {
  readonly name: string;
  readonly rules: readonly FirewallRule[];
}

export interface SshKey {
  readonly name: string;
  /** OpenSSH format: `ssh-ed25519 <base64> <comment>`. */
  readonly publicKey: string;
  /** Where its private half is sealed, if it is the provider's own key instead of the requested one. */
  readonly ref?: SecretRef;
}

export interface Image {
  readonly name: string;
  readonly os: string;
}

/** The machines of one cluster on one connection. */
export interface GroupRef {
  readonly name: string;
  readonly namespace: Namespace;
  readonly cluster: string;
  readonly uid: ClusterUid;
}

export interface DesiredMachine {
  readonly name: NodeName;
  readonly spec: string;
  /** Absent: the provider chooses. */
  readonly zone: string | undefined;
  readonly rootDisk: RootDisk;
  /** Absent: that of the group. */
  readonly image?: string;
  /** The existing machine that it adopts, with its former group; absent: it is created. */
  readonly adopts?: AdoptedMachine;
  readonly labels: Readonly<Record<string, string>>;
  /** Runs at its first boot, so that it joins; only for a new machine. Absent: it is accessed over SSH. */
  readonly userData?: string;
}

/** Everything that a provider needs to create machines: their group, their shared resources, and the machines. */
export interface MachineGroup extends GroupRef {
  readonly image: string;
  readonly network: string;
  readonly firewall: string;
  readonly sshKey: string;
  readonly machines: readonly DesiredMachine[];
}

/** How a host is accessed, as reported by its provider. */
export interface ReportedSsh {
  readonly host: string;
  readonly port: number;
  /** If not root, commands run with `sudo -n`. */
  readonly user: string;
  /** `SHA256:<base64>`; null if the provider does not know it. */
  readonly hostKey: string | null;
  /** The private key that opens it; absent: that of the connection's shared resources. */
  readonly keyRef?: SecretRef;
}

interface Reported {
  /** The provider's ID. */
  readonly id: string;
  readonly name: NodeName;
  readonly uid: ClusterUid;
}

export type MachineReport =
  | (Reported & { readonly status: 'creating' | 'stopped' })
  | (Reported & { readonly status: 'failed'; readonly message: string })
  | (Reported & {
      readonly status: 'running';
      /** Empty if the machine has none. */
      readonly publicIp: string;
      readonly privateIp: string;
      readonly region: string;
      readonly zone: string;
      /** `jump`: the host through which it is accessed, if not directly. */
      readonly ssh: ReportedSsh & { readonly jump?: ReportedSsh };
      /** `agent`: it connects by itself; absent: it is accessed over SSH. */
      readonly reach?: 'agent';
      /** The SSH key with which it was created, by its name at the provider; absent: the requested one. */
      readonly sshKey?: string;
      /** How this kind of hosts differs from Fairlead's defaults. */
      readonly profile?: HostProfile;
      /** Whether its power can be switched; absent: it cannot. */
      readonly power?: true;
      /** Labels for its node. */
      readonly labels?: Readonly<Record<string, string>>;
    });

/** A machine in the list of a whole connection. */
export type ListedMachine = MachineReport & {
  /** The group in which it was requested, e.g. `default.demo.lab`. */
  readonly group: string;
  /** Its size and image, by Fairlead's names; absent: the provider does not report them. */
  readonly spec?: string;
  readonly image?: string;
};

/** A report with which waiting for a machine ends. */
export type MachineAnswer = Extract<MachineReport, { status: 'running' | 'failed' }>;

export interface LoadBalancerSpec {
  readonly name: string;
  readonly group: GroupRef;
  readonly kind: 'haproxy' | 'nlb';
  /** The port on the control planes. */
  readonly targetPort: number;
  readonly healthPath: string;
  /** The provider's IDs of the control planes. */
  readonly targets: readonly string[];
}

/** Whether there is capacity for these machines. */
export interface CapacityRequest {
  readonly group: GroupRef;
  /** The size of each machine. */
  readonly specs: readonly string[];
  /** How many of them are control planes of a new cluster. */
  readonly controlPlanes: number;
  /** When the cluster ends (RFC 3339); absent: never. */
  readonly endsAt?: string | undefined;
}

/** Machines to reserve for a cluster for a period (RFC 3339). */
export interface DesiredReservation {
  readonly name: string;
  readonly group: GroupRef;
  /** null: immediately. */
  readonly startsAt: string | null;
  readonly endsAt: string;
  readonly machines: ReservedMachines;
}

/** A provider's reservation. `pending`: it begins later. `sizes`: the machine size to request for a reserved one. */
export type ReservationReport =
  | { readonly status: 'pending' | 'active'; readonly sizes: ReservedSizes }
  | { readonly status: 'denied'; readonly message: string };

/** For providers that can reserve machines; idempotent by name. */
export interface Reservations {
  /**
   * Creates the reservation, or changes its end. If it cannot last until then, it is denied, and an existing one is
   * unchanged.
   */
  ensure(desired: DesiredReservation, signal: AbortSignal): Promise<ReservationReport>;
  /** Returns undefined if there is none of that name. */
  describe(name: string, signal: AbortSignal): Promise<ReservationReport | undefined>;
  /** Idempotent, also if there was none; a late `ensure` of this name must not recreate it. */
  release(name: string, signal: AbortSignal): Promise<void>;
}

/** For a provider with an inventory: switches the power of hosts through their management controllers. */
export interface HostsPower {
  /** By the name of the host. Resolves with its power once it is as requested. */
  act(host: string, action: PowerAction, signal: AbortSignal): Promise<PowerState>;
  /** By the ID of a machine. Returns false if the provider does not have it any more. */
  cycleMachine(id: string, signal: AbortSignal): Promise<boolean>;
}

/** Who balances: the provider, haproxy and keepalived on the control planes, or an external load balancer. */
export type LoadBalancerPlacement = NonNullable<EventData<'LoadBalancerReady'>['placement']>;

export interface LoadBalancer {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** Absent: the provider. */
  readonly placement?: LoadBalancerPlacement;
}

/**
 * A provider, opened for one connection. All methods follow these rules:
 * - `ensure...` and `delete...` are idempotent by name or ID: after a crash they are called again with the same
 *   arguments.
 * - If the provider is unreachable or fails, they reject with a ExternalFailure with the provider's message and an
 *   operation of PROVIDER_OPERATIONS; `retryable` is false if a retry cannot help. A failure never means that something
 *   is gone: only an explicit response does.
 * - They end soon after `signal` aborts, and leave nothing running.
 */
export interface InfrastructureProvider {
  /** Checks that the provider responds and the credentials are valid. */
  verify(signal: AbortSignal): Promise<Capabilities>;
  listSpecs(signal: AbortSignal): Promise<readonly MachineSpec[]>;
  /** Returns undefined if the provider has no such region. */
  resolveRegion(region: string, signal: AbortSignal): Promise<Region | undefined>;
  /** Returns undefined if the provider has no such machine size. */
  resolveSpec(name: string, signal: AbortSignal): Promise<MachineSpec | undefined>;
  /** The image in the connection's settings, otherwise the provider's default. */
  resolveImage(signal: AbortSignal): Promise<Image>;

  /** Returns the actual network: an existing one keeps its own CIDR. */
  ensureNetwork(desired: Network, signal: AbortSignal): Promise<Network>;
  ensureFirewall(desired: Firewall, signal: AbortSignal): Promise<Firewall>;
  /** Returns the key at the provider. */
  ensureSshKey(desired: SshKey, signal: AbortSignal): Promise<SshKey>;
  /** New machines cannot get it anymore; existing ones keep it. */
  deleteSshKey(name: string, signal: AbortSignal): Promise<void>;

  /**
   * Requests the whole group at once, creates missing machines, and yields each machine once when it responds; ends
   * when all have. Existing machines are yielded as they are, a failed one as failed: it is not recreated
   * automatically. One with `adopts` is an existing machine that moves into the group and keeps its ID, disk and
   * address: only from the named group, and none is created if it is not there.
   */
  ensureMachines(group: MachineGroup, signal: AbortSignal): AsyncIterable<MachineAnswer>;
  /** All machines of the group that the provider knows, of any incarnation. */
  describeMachines(group: GroupRef, signal: AbortSignal): Promise<readonly MachineReport[]>;
  /**
   * Every machine of the connection that has this connection's marks, whatever its cluster, in one call. The list is
   * complete, or the call fails: a machine that is not listed does not exist.
   */
  listMachines(signal: AbortSignal): Promise<readonly ListedMachine[]>;
  /** For a provider with an inventory: why it cannot allocate these machines now. Allocates nothing. */
  checkCapacity?(request: CapacityRequest, signal: AbortSignal): Promise<Refusal | undefined>;
  /** For a provider with an inventory: retries to clean released hosts whose reset had failed. */
  recover?(signal: AbortSignal): Promise<void>;
  /**
   * For a provider with an inventory: an administrator stated at this position of the log that a quarantined host, or
   * one of another namespace, is free as it is.
   */
  accept?(host: string, asOf: number): Promise<void>;
  /** Resolves once the provider has accepted it; describeMachines reports when the machine is gone. */
  deleteMachine(id: string, signal: AbortSignal): Promise<void>;
  /** Deletes all machines of this incarnation and the group; a late ensureMachines must not recreate them. */
  deleteGroup(group: GroupRef, signal: AbortSignal): Promise<void>;

  /** Returns the address at once; it never changes, even if the targets do. Targets need not be listening yet. */
  ensureLoadBalancer(desired: LoadBalancerSpec, signal: AbortSignal): Promise<LoadBalancer>;
  deleteLoadBalancer(name: string, signal: AbortSignal): Promise<void>;

  readonly power?: HostsPower | undefined;

  /** For a provider that can reserve machines. */
  readonly reservations?: Reservations | undefined;
}

/** One kind of provider: lab, ssh, nspawn, ... */
export interface ProviderKind {
  readonly name: string;
  /** Parses the settings without contacting the provider. `secret` is undefined if the connection has none. */
  open(connection: Connection, secret: string | undefined): InfrastructureProvider | Refusal;
}

/** Every supported kind, by name. */
export type ProviderKinds = ReadonlyMap<string, ProviderKind>;

/** A connection with its opened provider. */
export interface OpenConnection {
  readonly connection: Connection;
  readonly provider: InfrastructureProvider;
}

/** Finds registered connections by name, and opens their providers. */
export interface Connections {
  /** Returns undefined if there is no such connection, or it is no longer offered to new clusters. */
  offered(name: ConnectionName): Promise<Connection | undefined>;
  /** Whether it has not been registered again since. */
  isCurrent(connection: Pick<Connection, 'name' | 'registration'>): Promise<boolean>;
  /** Also opens a removed connection, because its clusters must still be deleted. */
  open(name: ConnectionName): Promise<OpenConnection | Refusal>;
  /** Returns undefined if there is no such connection, or it is no longer offered. */
  openOffered(name: ConnectionName): Promise<OpenConnection | Refusal | undefined>;
  namespaceExists(name: Namespace): Promise<boolean>;
}
