import type { IdentityBlock, RealmProvider, RealmService, RealmSettings } from '@fairlead/contracts';

/** How to access a realm, with the credential. */
export interface RealmAccess extends RealmSettings {
  /** The namespace that a created realm is of. */
  readonly namespace: string;
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
  readonly services: readonly RealmService[];
}

/**
 * A working realm that permits Fairlead to manage clients and groups. Every method is idempotent, reverts manual
 * changes and rejects with RealmFailure. A client or a group without an owner that is marked for the cluster is
 * adopted.
 */
export interface RealmSession {
  ensureGroup(desired: DesiredIdentity, signal: AbortSignal): Promise<void>;
  /** A public client with the device flow and the authorization code flow with PKCE. */
  ensureClient(desired: DesiredIdentity, signal: AbortSignal): Promise<void>;
  /** A client for each service and a group below that of the cluster, which exists; deletes those of other services. */
  ensureServices(desired: DesiredIdentity, signal: AbortSignal): Promise<void>;
  /** With those of all services. Keeps one of another cluster. */
  deleteClient(desired: DesiredIdentity, signal: AbortSignal): Promise<void>;
  /** With the groups below it. */
  deleteGroup(desired: DesiredIdentity, signal: AbortSignal): Promise<void>;
}

/** A kind of identity provider. */
export interface IdentityProvider {
  readonly name: RealmProvider;
  /** Creates the realm if that is requested. Rejects with RealmFailure if it is not ready. */
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
