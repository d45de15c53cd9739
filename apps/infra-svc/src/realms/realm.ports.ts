import type { IdentityBlock, RealmProvider, RealmSettings } from '@fairlead/contracts';

/** How a realm is reached, with the credential. */
export interface RealmAccess extends RealmSettings {
  readonly name: string;
  readonly clientSecret: string;
}

/** What a cluster is to have at a realm. Its uid is the mark by which a client or a group is known as its own. */
export interface DesiredIdentity {
  readonly namespace: string;
  readonly cluster: string;
  readonly uid: string;
  readonly clientId: string;
  /** As tokens name it. */
  readonly group: string;
  readonly groupsClaim: string;
}

/** A realm that answered as it should, and lets Fairlead manage clients and groups. Every method is idempotent and rejects with RealmFailure. */
export interface RealmSession {
  ensureGroup(desired: DesiredIdentity, signal: AbortSignal): Promise<void>;
  /** A public client, with the device flow and the authorization code flow with PKCE. */
  ensureClient(desired: DesiredIdentity, signal: AbortSignal): Promise<void>;
  /** One of another cluster stays. */
  deleteClient(desired: DesiredIdentity, signal: AbortSignal): Promise<void>;
  deleteGroup(desired: DesiredIdentity, signal: AbortSignal): Promise<void>;
}

/** A kind of identity provider. */
export interface IdentityProvider {
  readonly name: RealmProvider;
  /** Rejects with RealmFailure where the realm is not ready. */
  open(access: RealmAccess, signal: AbortSignal): Promise<RealmSession>;
}

export type IdentityProviders = ReadonlyMap<string, IdentityProvider>;

/** Why a realm does not do what it was asked for. The message is safe to show and to store. */
export class RealmFailure extends Error {
  constructor(
    readonly reason: Exclude<IdentityBlock, 'RealmNotFound'>,
    message: string,
  ) {
    super(message);
    this.name = 'RealmFailure';
  }
}
