import type { FairleadClient, Schemas } from '@fairlead/api-client';
import type { Access } from './access.js';
import type { Api } from './api.ports.js';
import { allItemsOf, dataOf, done } from './client.requests.js';

type ApplicationMethods = Pick<
  Api,
  'applications' | 'application' | 'applicationVersion' | 'putApplication' | 'syncApplication' | 'deleteApplication'
>;

export const applicationMethods = (access: Access, client: FairleadClient): ApplicationMethods => {
  const named = (application: string) => ({ params: { path: { application } } });
  return {
    applications: () => allItemsOf(access, (query) => client.GET('/applications', { params: { query } })),
    application: (name) => dataOf(access, client.GET('/applications/{application}', named(name))),
    applicationVersion: (application, version) =>
      dataOf(
        access,
        client.GET('/applications/{application}/versions/{version}', { params: { path: { application, version } } }),
      ),
    putApplication: (name, settings) =>
      dataOf(
        access,
        // The generated type wants what has a default, too; the server does not.
        client.PUT('/applications/{application}', { ...named(name), body: settings as Schemas['ApplicationRequest'] }),
      ),
    syncApplication: (name) => done(client.POST('/applications/{application}/sync', named(name))),
    deleteApplication: (name) => done(client.DELETE('/applications/{application}', named(name))),
  };
};
