import type {
  AdoptedMachine,
  ClusterUid,
  ConnectionName,
  EventData,
  HostProfile,
  MachineSpec,
  Namespace,
  NodeName,
  Refusal,
  ReservedMachines,
  ReservedSizes,
  RootDisk,
  SecretRef,
} from '@fairlead/contracts';

/** A registered way to a provider. */
export interface Connection {
  readonly name: ConnectionName;
  readonly provider: string;
  readonly region: string;
  /** Empty: any zone of the region. */
  readonly zone: string;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly secretRef: SecretRef | null;
  /** Distinguishes this registration from a later one under the same name, which may have another secret behind the reference. */
  readonly registration: string;
}

/** What can be asked of a provider; also the name of the step in events, and the operation of a WorldFailure. */
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
] as const;
export type ProviderOperation = (typeof PROVIDER_OPERATIONS)[number];

export interface Capabilities {
  /** The provider runs a load balancer of its own. */
  readonly nlb: boolean;
  /** Its machines are a simulation, and must be called so wherever they show. */
  readonly simulated: boolean;
  /** Of a provider with an inventory: each of its hosts. */
  readonly hosts?: readonly HostState[];
}

/** One host of an inventory. */
export interface HostState {
  readonly name: NodeName;
  /** Why it is of no use now; empty: it answers and is fit, or in use. */
  readonly problem: string;
  /** What should be changed although it is fit. */
  readonly warning?: string;
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
  /** OpenSSH: `ssh-ed25519 <base64> <comment>`. */
  readonly publicKey: string;
  /** Where its private half is sealed, when that is not the key that was desired but one of the provider's own. */
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
  /** The machine that it becomes, in the group that it was found in; absent: it is created. */
  readonly adopts?: AdoptedMachine;
  readonly labels: Readonly<Record<string, string>>;
  /** What it runs at its first boot, by which it joins; only of a new machine. Absent: nothing, and it is reached by SSH. */
  readonly userData?: string;
}

/** Everything that a provider needs to make machines: their group, what they stand on, and they themselves. */
export interface MachineGroup extends GroupRef {
  readonly image: string;
  readonly network: string;
  readonly firewall: string;
  readonly sshKey: string;
  readonly machines: readonly DesiredMachine[];
}

/** How a host is reached, as its provider says it. */
export interface ReportedSsh {
  readonly host: string;
  readonly port: number;
  /** Other than root: commands run through `sudo -n`. */
  readonly user: string;
  /** `SHA256:<base64>`; null when the provider does not know it. */
  readonly hostKey: string | null;
  /** The private key that opens it; absent: that of the connection's shared resources. */
  readonly keyRef?: SecretRef;
}

interface Reported {
  /** What the provider calls it. */
  readonly id: string;
  readonly name: NodeName;
  readonly uid: ClusterUid;
}

export type MachineReport =
  | (Reported & { readonly status: 'creating' | 'stopped' })
  | (Reported & { readonly status: 'failed'; readonly message: string })
  | (Reported & {
      readonly status: 'running';
      /** Empty where the machine has none. */
      readonly publicIp: string;
      readonly privateIp: string;
      readonly region: string;
      readonly zone: string;
      /** `jump`: the host through which it is reached, where it is not reached directly. */
      readonly ssh: ReportedSsh & { readonly jump?: ReportedSsh };
      /** It connects by itself, and is not reached by SSH; absent: it is. */
      readonly reach?: 'agent';
      /** The SSH key that it was created with, by its name at the provider; absent: the one that was desired. */
      readonly sshKey?: string;
      /** What differs between this kind of hosts and the ones that Fairlead takes for granted. */
      readonly profile?: HostProfile;
      /** Labels that its node must have. */
      readonly labels?: Readonly<Record<string, string>>;
    });

/** A machine in the list of a whole connection. */
export type ListedMachine = MachineReport & {
  /** The group that it was requested in, e.g. `default.demo.lab`. */
  readonly group: string;
  /** Its size and image, by their names here; absent: the provider does not say. */
  readonly spec?: string;
  readonly image?: string;
};

/** The two answers that end the waiting for a machine. */
export type MachineAnswer = Extract<MachineReport, { status: 'running' | 'failed' }>;

export interface LoadBalancerSpec {
  readonly name: string;
  readonly group: GroupRef;
  readonly kind: 'haproxy' | 'nlb';
  /** The port on the control planes. */
  readonly targetPort: number;
  readonly healthPath: string;
  /** The provider's ids of the control planes. */
  readonly targets: readonly string[];
}

/** Is there room for these machines? */
export interface CapacityRequest {
  readonly group: GroupRef;
  /** The size of each machine. */
  readonly specs: readonly string[];
  /** How many of them must be control planes of a new cluster. */
  readonly controlPlanes: number;
}

/** Machines that must be there for a cluster from one time until another (RFC 3339). */
export interface DesiredReservation {
  readonly name: string;
  readonly group: GroupRef;
  /** null: at once. */
  readonly startsAt: string | null;
  readonly endsAt: string;
  readonly machines: ReservedMachines;
}

/** What a provider has reserved. `pending`: it begins later. `sizes`: which machine size must be requested for a reserved one. */
export type ReservationReport =
  | { readonly status: 'pending' | 'active'; readonly sizes: ReservedSizes }
  | { readonly status: 'denied'; readonly message: string };

/** What a provider promises that can reserve machines: idempotent by name. */
export interface Reservations {
  /** Makes the reservation, or moves its end. One that cannot last until its end is denied, and a denial leaves what there was. */
  ensure(desired: DesiredReservation, signal: AbortSignal): Promise<ReservationReport>;
  /** undefined: there is none of that name. */
  describe(name: string, signal: AbortSignal): Promise<ReservationReport | undefined>;
  /** Gone is gone, also when there was none; a late ensure of this name must not bring it back. */
  release(name: string, signal: AbortSignal): Promise<void>;
}

/** Who balances: the provider, haproxy and keepalived on the control planes, or something that is not ours. */
export type LoadBalancerPlacement = NonNullable<EventData<'LoadBalancerReady'>['placement']>;

export interface LoadBalancer {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  /** Absent: the provider. */
  readonly placement?: LoadBalancerPlacement;
}

/**
 * A provider, opened for one connection. What every method promises:
 * - `ensure...` and `delete...` are idempotent by name or id: after a crash they are called again with the same arguments.
 * - A provider that cannot be reached, or that fails, is a WorldFailure with the provider's message, with an operation of
 *   PROVIDER_OPERATIONS; `retryable` is false when asking again cannot help. It never means that something is gone:
 *   only an answer that says so does.
 * - It ends soon after `signal` aborts, and leaves nothing running.
 */
export interface InfrastructureProvider {
  /** The provider answers, and the credentials are good. */
  verify(signal: AbortSignal): Promise<Capabilities>;
  listSpecs(signal: AbortSignal): Promise<readonly MachineSpec[]>;
  /** undefined: the provider has no such region. */
  resolveRegion(region: string, signal: AbortSignal): Promise<Region | undefined>;
  /** undefined: the provider has no such machine size. */
  resolveSpec(name: string, signal: AbortSignal): Promise<MachineSpec | undefined>;
  /** The image of the connection's settings, else the provider's default. */
  resolveImage(signal: AbortSignal): Promise<Image>;

  /** Resolves to the network as it is: one that existed keeps its own CIDR. */
  ensureNetwork(desired: Network, signal: AbortSignal): Promise<Network>;
  ensureFirewall(desired: Firewall, signal: AbortSignal): Promise<Firewall>;
  /** Resolves to the key as the provider has it. */
  ensureSshKey(desired: SshKey, signal: AbortSignal): Promise<SshKey>;
  /** New machines cannot get it any more; those that have it keep it. */
  deleteSshKey(name: string, signal: AbortSignal): Promise<void>;

  /**
   * Asks for the whole group at once, makes what is missing of it, and yields each machine once, as it answers; it ends
   * when all have. Machines that exist are yielded as they are, a failed one as failed: it is not made again by itself. One that
   * `adopts` is an existing machine, which moves into the group and keeps its id, its disk and its address: only from the group that
   * is named, and none is created where it is not there.
   */
  ensureMachines(group: MachineGroup, signal: AbortSignal): AsyncIterable<MachineAnswer>;
  /** All machines of the group that the provider knows, of whatever incarnation. */
  describeMachines(group: GroupRef, signal: AbortSignal): Promise<readonly MachineReport[]>;
  /**
   * Every machine of the connection that carries this connection's marks, whatever cluster it was requested for, in one call. The list is
   * complete, or the call fails: a machine that is not in it does not exist.
   */
  listMachines(signal: AbortSignal): Promise<readonly ListedMachine[]>;
  /** Of a provider that has a stock and makes nothing: why it cannot give these machines now. Nothing is taken. */
  checkCapacity?(request: CapacityRequest, signal: AbortSignal): Promise<Refusal | undefined>;
  /** Of the same: another try to clean what was given back and could not be cleaned then. */
  recover?(signal: AbortSignal): Promise<void>;
  /** Of the same: an administrator said at this position of the log that a host that was kept out, or had another namespace, is free as it is. */
  accept?(host: string, asOf: number): Promise<void>;
  /** Accepted by the provider; describeMachines says when the machine is gone. */
  deleteMachine(id: string, signal: AbortSignal): Promise<void>;
  /** All machines of this incarnation, and the group itself; a late ensureMachines for it must not bring them back. */
  deleteGroup(group: GroupRef, signal: AbortSignal): Promise<void>;

  /** The address is known at once and never changes, also when the targets do; they need not listen yet. */
  ensureLoadBalancer(desired: LoadBalancerSpec, signal: AbortSignal): Promise<LoadBalancer>;
  deleteLoadBalancer(name: string, signal: AbortSignal): Promise<void>;

  /** Of a provider that can reserve machines. */
  readonly reservations?: Reservations | undefined;
}

/** One kind of provider: lab, ssh, nspawn, ... */
export interface ProviderKind {
  readonly name: string;
  /** Reads the settings without asking the provider anything. `secret` is undefined where the connection has none. */
  open(connection: Connection, secret: string | undefined): InfrastructureProvider | Refusal;
}

/** Every kind that this service knows, by name. */
export type ProviderKinds = ReadonlyMap<string, ProviderKind>;

/** A connection whose provider is open. */
export interface OpenConnection {
  readonly connection: Connection;
  readonly provider: InfrastructureProvider;
}

/** Finds connections by name, as they are registered now, and opens their providers. */
export interface Connections {
  /** undefined: no such connection, or it is no longer offered to new clusters. */
  offered(name: ConnectionName): Promise<Connection | undefined>;
  /** Whether it has not been registered again since. */
  isCurrent(connection: Pick<Connection, 'name' | 'registration'>): Promise<boolean>;
  /** Also opens a connection that was removed: the clusters on it must still be deleted. */
  open(name: ConnectionName): Promise<OpenConnection | Refusal>;
  /** undefined: no such connection, or it is no longer offered. */
  openOffered(name: ConnectionName): Promise<OpenConnection | Refusal | undefined>;
  namespaceExists(name: Namespace): Promise<boolean>;
}
