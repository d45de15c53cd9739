import type { Cause as WorldCause, ConnectionName, ConnectionOffer, SecretRef } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import type { Connection, OpenConnection, Region } from '../providers/provider.ports.js';
import type { Surroundings } from './surroundings.planner.js';

/** What the machines of a connection stand on. */
export interface SharedInfrastructure {
  readonly network: string;
  readonly firewall: string;
  readonly sshKey: string;
  readonly keyRef: SecretRef;
  readonly image: string;
}

/** Ensures what all clusters of a connection share: once, also when many clusters ask at the same time. */
export interface SharedResources {
  /** Network, firewall, SSH key, image and then the machine sizes, in this order. Rejects with WorldFailure. */
  ensure(open: OpenConnection, specs: readonly string[], cause: Cause): Promise<SharedInfrastructure>;
  /** The network that the connection's machines are in, or will be, and the addresses that they use. */
  surroundings(connection: Connection): Promise<Surroundings>;
  /** While no other replica ensures anything of the connection. */
  alone<Result>(connection: ConnectionName, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>;
}

/** What a connection offers now. */
export interface Offering {
  readonly offer: ConnectionOffer;
  /** undefined: the provider has no region of the connection's name. */
  readonly region: Region | undefined;
}

/** Why an offer, or that there is none, becomes an event. */
export interface Occasion {
  readonly cause: Cause;
  /** Someone asked for it: it is stated also if nothing has changed. */
  readonly isAnswer: boolean;
}

/** What connections offer. A change is also stated as an event. */
export interface Offers {
  /** At most some seconds old. Rejects with WorldFailure. */
  of(open: OpenConnection, cause: Cause): Promise<Offering>;
  /** Asks the provider now. */
  refresh(open: OpenConnection, occasion: Occasion): Promise<Offering>;
  /** States why the connection cannot be used. */
  unverified(connection: ConnectionName, failed: WorldCause, occasion: Occasion): Promise<void>;
}

/** An SSH key pair, both halves in OpenSSH's format. */
export interface KeyPair {
  readonly privateKey: string;
  readonly publicKey: string;
}

/** Makes SSH keys, and reads them back. */
export interface SshKeys {
  /** A new ed25519 key. */
  generate(comment: string): KeyPair;
  /** The pair that a private key belongs to. */
  read(privateKey: string, comment: string): KeyPair;
}
