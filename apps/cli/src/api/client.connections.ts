import type { FairleadClient, Schemas } from '@fairlead/api-client';
import type { Access } from './access.js';
import type { Api } from './api.ports.js';
import { acceptedOf, allItemsOf, dataOf, done, itemsOf, withKey } from './client.requests.js';

type ConnectionMethods = Pick<
  Api,
  | 'connections'
  | 'connection'
  | 'specs'
  | 'putConnection'
  | 'changeConnection'
  | 'verifyConnection'
  | 'acceptHostKey'
  | 'acceptHost'
  | 'rotateSshKey'
  | 'deleteConnection'
  | 'orphans'
  | 'deleteOrphan'
  | 'adoptOrphan'
>;

export const connectionMethods = (access: Access, client: FairleadClient): ConnectionMethods => {
  const named = (connection: string) => ({ params: { path: { connection } } });
  return {
    connections: () => allItemsOf(access, (query) => client.GET('/connections', { params: { query } })),
    connection: (name) => dataOf(access, client.GET('/connections/{connection}', named(name))),
    specs: (name) => itemsOf(access, client.GET('/mcir/connections/{connection}/specs', named(name))),
    changeConnection: (name, change) =>
      dataOf(access, client.PATCH('/connections/{connection}', { ...named(name), body: change })),
    putConnection: (name, settings) =>
      dataOf(
        access,
        // The generated type wants what has a default, too; the server does not.
        client.PUT('/connections/{connection}', { ...named(name), body: settings as Schemas['ConnectionRequest'] }),
      ),
    verifyConnection: (name) => done(client.POST('/connections/{connection}/verify', named(name))),
    acceptHostKey: (name, host, hostKey) =>
      done(client.POST('/connections/{connection}/accept-host-key', { ...named(name), body: { host, hostKey } })),
    acceptHost: (name, host) =>
      done(client.POST('/connections/{connection}/accept-host', { ...named(name), body: { host } })),
    rotateSshKey: (name, force) =>
      done(client.POST('/connections/{connection}/ssh-key/rotate', { ...named(name), body: force ? { force } : {} })),
    deleteConnection: (name) => done(client.DELETE('/connections/{connection}', named(name))),
    orphans: (name) =>
      allItemsOf(access, (query) =>
        client.GET('/connections/{connection}/orphans', { params: { path: { connection: name }, query } }),
      ),
    adoptOrphan: (connection, orphan, body, key) =>
      acceptedOf(
        access,
        client.POST('/connections/{connection}/orphans/{orphan}/adopt', {
          ...withKey({ connection, orphan }, key),
          body,
        }),
      ),
    deleteOrphan: (name, orphan) =>
      done(
        client.DELETE('/connections/{connection}/orphans/{orphan}', { params: { path: { connection: name, orphan } } }),
      ),
  };
};
