import type { Cause as WorldCause, ConnectionName, ConnectionOffer, SecretRef } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import type { Connection, OpenConnection, Region } from '../providers/provider.ports.js';
import type { Surroundings } from './surroundings.planner.js';

/** Resources that the machines of a connection share. */
export interface SharedInfrastructure {
  readonly network: string;
  readonly firewall: string;
  readonly sshKey: string;
  readonly keyRef: SecretRef;
  readonly image: string;
}

/** Ensures the resources that all clusters of a connection share, once for concurrent callers. */
export interface SharedResources {
  /** Ensures network, firewall, SSH key, image and then the machine sizes, in this order. Rejects with ExternalFailure. */
  ensure(open: OpenConnection, specs: readonly string[], cause: Cause): Promise<SharedInfrastructure>;
  /** The current or future network of the connection's machines, and the addresses that they use. */
  surroundings(connection: Connection): Promise<Surroundings>;
  /** Runs while no other replica ensures resources of the connection. */
  alone<Result>(connection: ConnectionName, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
}

/** The current offer of a connection. */
export interface Offering {
  readonly offer: ConnectionOffer;
  /** undefined: the provider does not have the connection's region. */
  readonly region: Region | undefined;
}

/** Why an offer, or its absence, becomes an event. */
export interface Occasion {
  readonly cause: Cause;
  /** Whether it was requested, and is therefore stated even if nothing has changed. */
  readonly isAnswer: boolean;
}

/** The offers of connections. Changes are also stated as events. */
export interface Offers {
  /** Cached for a few seconds at most. Rejects with ExternalFailure. */
  of(open: OpenConnection, cause: Cause): Promise<Offering>;
  /** Queries the provider now. */
  refresh(open: OpenConnection, occasion: Occasion): Promise<Offering>;
  /** States why the connection cannot be used. */
  unverified(connection: ConnectionName, failed: WorldCause, occasion: Occasion): Promise<void>;
}

/** An SSH key pair, both halves in OpenSSH format. */
export interface KeyPair {
  readonly privateKey: string;
  readonly publicKey: string;
}

/** Generates and parses SSH keys. */
export interface SshKeys {
  /** Generates an ed25519 key. */
  generate(comment: string): KeyPair;
  /** Derives the pair from a private key. */
  read(privateKey: string, comment: string): KeyPair;
}
