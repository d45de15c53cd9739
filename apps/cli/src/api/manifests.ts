import type { Schemas } from '@fairlead/api-client';
import type { Accepted, Api } from './api.js';
import type { ClusterAt, Manifest, ManifestView } from './views.js';

/** What would be done is answered, and nothing is. */
export const DRY_RUN = { dryRun: 'All' } as const;

/** Creates the cluster, or makes it as declared. What is missing or wrong in the document is the server's to say. */
export const putManifest = (
  api: Api,
  at: ClusterAt,
  manifest: Manifest,
  how: { readonly key: string; readonly query?: typeof DRY_RUN },
): Promise<Accepted<ManifestView>> =>
  api.put('/ns/{namespace}/clusters/{cluster}/manifest', at, { ...how, body: manifest as Schemas['ClusterManifest'] });
