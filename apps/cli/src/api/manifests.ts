import type { Schemas } from '@fairlead/api-client';
import type { Accepted, Api } from './api.js';
import type { ClusterAt, Manifest, ManifestView } from './views.js';

/** The server returns the plan and changes nothing. */
export const DRY_RUN = { dryRun: 'All' } as const;

/** Creates or updates the cluster. The document is validated by the server. */
export const putManifest = (
  api: Api,
  at: ClusterAt,
  manifest: Manifest,
  how: { readonly key: string; readonly query?: typeof DRY_RUN },
): Promise<Accepted<ManifestView>> =>
  api.put('/ns/{namespace}/clusters/{cluster}/manifest', at, { ...how, body: manifest as Schemas['ClusterManifest'] });
