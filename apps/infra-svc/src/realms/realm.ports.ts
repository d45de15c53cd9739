import type { IdentityBlock, RealmProvider, RealmSettings } from '@fairlead/contracts';

/** How to access a realm, with the credential. */
export interface RealmAccess extends RealmSettings {
  readonly name: string;
  readonly clientSecret: string;
}

/** The desired resources of a cluster at a realm. The UID marks a client or a group as its own. */
export interface DesiredIdentity {
  readonly namespace: string;
  readonly cluster: string;
  readonly uid: string;
  readonly clientId: string;
  /** The group's name in tokens. */
  readonly group: string;
  readonly groupsClaim: string;
}

/**
 * A working realm that permits Fairlead to manage clients and groups. Every method is idempotent and rejects with
 * RealmFailure.
 */
export interface RealmSession {
  ensureGroup(desired: DesiredIdentity, signal: AbortSignal): Promise<void>;
  /** A public client with the device flow and the authorization code flow with PKCE. */
  ensureClient(desired: DesiredIdentity, signal: AbortSignal): Promise<void>;
  /** Keeps one of another cluster. */
  deleteClient(desired: DesiredIdentity, signal: AbortSignal): Promise<void>;
  deleteGroup(desired: DesiredIdentity, signal: AbortSignal): Promise<void>;
}

/** A kind of identity provider. */
export interface IdentityProvider {
  readonly name: RealmProvider;
  /** Rejects with RealmFailure if the realm is not ready. */
  open(access: RealmAccess, signal: AbortSignal): Promise<RealmSession>;
}

export type IdentityProviders = ReadonlyMap<string, IdentityProvider>;

/** Why a realm failed. The message is safe to show and to store. */
export class RealmFailure extends Error {
  constructor(
    readonly reason: Exclude<IdentityBlock, 'RealmNotFound'>,
    message: string,
  ) {
    super(message);
    this.name = 'RealmFailure';
  }
}
