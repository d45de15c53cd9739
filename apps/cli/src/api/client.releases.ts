import type { FairleadClient } from '@fairlead/api-client';
import type { Access } from './access.js';
import type { Api } from './api.ports.js';
import { allItemsOf, dataOf } from './client.requests.js';

type ReleaseMethods = Pick<
  Api,
  | 'releases'
  | 'release'
  | 'putRelease'
  | 'withdrawRelease'
  | 'releaseSigners'
  | 'putReleaseSigners'
  | 'importReleaseCatalogue'
>;

export const releaseMethods = (access: Access, client: FairleadClient): ReleaseMethods => {
  const named = (version: string) => ({ params: { path: { version } } });
  return {
    releases: () => allItemsOf(access, (query) => client.GET('/releases', { params: { query } })),
    release: (version) => dataOf(access, client.GET('/releases/{version}', named(version))),
    putRelease: (version, body) => dataOf(access, client.PUT('/releases/{version}', { ...named(version), body })),
    withdrawRelease: (version, reason) =>
      dataOf(access, client.POST('/releases/{version}/withdraw', { ...named(version), body: { reason } })),
    releaseSigners: () => dataOf(access, client.GET('/release-signers')),
    putReleaseSigners: (signers) => dataOf(access, client.PUT('/release-signers', { body: { signers: [...signers] } })),
    importReleaseCatalogue: (body) => dataOf(access, client.POST('/release-signers/catalogue', { body })),
  };
};
