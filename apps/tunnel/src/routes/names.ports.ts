import type { HeldName, NameReservation } from '@fairlead/contracts';
import type { Duplex } from 'node:stream';

/** What the tunnel knows of names, and says of them. */
export interface Names {
  /** undefined: it is not reserved. */
  reservation(name: string): Promise<NameReservation | undefined>;
  /** Who holds it somewhere; undefined: it is not held. */
  holder(name: string): Promise<HeldName | undefined>;
  hold(name: string, held: HeldName): Promise<void>;
}

/** Where a connection came from, for whom it is opened to. */
export interface Origin {
  readonly address: string;
  readonly port: number;
}

/** A client that holds names. */
export interface Session {
  /** A connection to what the client offers under the name. */
  open(name: string, origin: Origin): Promise<Duplex>;
  end(why: string): void;
}

/** Another replica. */
export interface Peers {
  connect(peer: string): Promise<Duplex>;
}
