import type { NameReservation } from '@fairlead/contracts';

/** Names at the tunnel. */
export interface TunnelNames {
  /** Reserves it unless it is reserved; resolves with what it is reserved for. */
  reserve(name: string, reservation: NameReservation): Promise<NameReservation>;
  /** Keeps what is reserved for this cluster as given, and reserves what is not. False: it is another cluster's. */
  keep(name: string, reservation: NameReservation): Promise<boolean>;
  /** Whether a control plane holds it now. */
  isHeld(name: string): Promise<boolean>;
  /** Only what is reserved for this cluster. */
  release(name: string, uid: string): Promise<void>;
}

/** Where names are published. */
export interface PublishSettings {
  readonly domain: string;
  /** Where clients connect. */
  readonly port: number;
  /** Where control planes connect. */
  readonly tunnel: { readonly host: string; readonly port: number; readonly hostKey: string };
}
