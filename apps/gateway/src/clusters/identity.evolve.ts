import {
  identityAfter,
  NO_IDENTITY,
  realmWishOf,
  withoutBlock,
  type ClusterIdentity,
  type RealmWish,
  type StoredEvent,
} from '@fairlead/contracts';

/** What is shown of a cluster's client at an identity realm. */
export interface IdentityDoc {
  /** null: its manifest asks for no realm any more. */
  readonly wish: RealmWish | null;
  readonly has: ClusterIdentity;
  /** When either last changed. */
  readonly since: string;
}

/** Undefined: the cluster has nothing to do with realms. */
export const identityDocAfter = (doc: IdentityDoc | undefined, event: StoredEvent): IdentityDoc | undefined => {
  const { wish: wished = null, has: had = NO_IDENTITY } = doc ?? {};
  const wish = event.type === 'ClusterSpecChanged' ? realmWishOf(event.data.spec.authentication?.oidc) : wished;
  const isSameWish = JSON.stringify(wish) === JSON.stringify(wished);
  const has = identityAfter(isSameWish ? had : withoutBlock(had), event);
  if (wish === null && Object.keys(has.held).length === 0) return undefined;
  if (has === had && isSameWish) return doc;
  return { wish, has, since: event.meta.time };
};
