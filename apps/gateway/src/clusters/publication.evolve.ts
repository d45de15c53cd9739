import type { StoredEvent } from '@fairlead/contracts';
import { isPublished, NO_PUBLICATION, publicationAfter, type Publication } from '@fairlead/domain';

/** What is shown of a cluster's name. */
export interface PublicationDoc {
  readonly has: Publication;
  /** When it last changed. */
  readonly since: string;
}

/** Undefined: the cluster is not published. */
export const publicationDocAfter = (
  doc: PublicationDoc | undefined,
  event: StoredEvent,
): PublicationDoc | undefined => {
  const has = publicationAfter(doc?.has ?? NO_PUBLICATION, event);
  const isNew = doc === undefined && event.type === 'ClusterSpecChanged' && isPublished(event.data.spec);
  return isNew || has !== (doc?.has ?? NO_PUBLICATION) ? { has, since: event.meta.time } : doc;
};
