import type { StoredEvent } from '@fairlead/contracts';
import {
  identityAfter,
  NO_IDENTITY,
  realmSelectionOf,
  withoutBlock,
  type ClusterIdentity,
  type RealmSelection,
} from '@fairlead/domain';

/** What is shown of a cluster's client at an identity realm. */
export interface IdentityDoc {
  /** null: its manifest asks for no realm any more. */
  readonly selection: RealmSelection | null;
  readonly has: ClusterIdentity;
  /** When either last changed. */
  readonly since: string;
}

/** Undefined: the cluster has nothing to do with realms. */
export const identityDocAfter = (doc: IdentityDoc | undefined, event: StoredEvent): IdentityDoc | undefined => {
  const { selection: selected = null, has: had = NO_IDENTITY } = doc ?? {};
  const selection =
    event.type === 'ClusterSpecChanged' ? realmSelectionOf(event.data.spec.authentication?.oidc) : selected;
  const isSameSelection = JSON.stringify(selection) === JSON.stringify(selected);
  const has = identityAfter(isSameSelection ? had : withoutBlock(had), event);
  if (selection === null && Object.keys(has.held).length === 0) return undefined;
  if (has === had && isSameSelection) return doc;
  return { selection, has, since: event.meta.time };
};
