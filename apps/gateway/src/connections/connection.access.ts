import { EVERY_NAMESPACE, refuse, type ConnectionView } from '@fairlead/contracts';
import { mayUse } from '@fairlead/domain';
import { Inject, Injectable } from '@nestjs/common';
import { mayEverywhere, type Identity } from '../access/identity.js';
import { Registry } from '../common/registry.js';
import { RefusalError } from '../http/refusal.error.js';
import { connectionView, type RegisteredConnectionDoc } from './connections.projection.js';
import { ConnectionQueries } from './connections.queries.js';

type Granted = Parameters<typeof mayUse>[0];

/** Whether the caller may know of the connection: a namespace of theirs may use it. */
export const maySee = ({ roles }: Pick<Identity, 'roles'>, connection: Granted): boolean =>
  roles.some(({ namespace }) => namespace === EVERY_NAMESPACE || mayUse(connection, namespace));

/** Connections as far as a caller may see them. For all others there is no such connection. */
@Injectable()
export class ConnectionAccess {
  constructor(
    @Inject(ConnectionQueries) private readonly queries: ConnectionQueries,
    @Inject(Registry) private readonly registry: Registry,
  ) {}

  async all(identity: Identity): Promise<ConnectionView[]> {
    const docs = await this.visible(await this.queries.all(), identity);
    return docs.map((doc) => connectionView(doc, mayEverywhere(identity, 'admin')));
  }

  async one(name: string, identity: Identity): Promise<RegisteredConnectionDoc> {
    const found = await this.queries.one(name);
    const [doc] = await this.visible(found === undefined ? [] : [found], identity);
    if (doc === undefined) throw new RefusalError(refuse('connection.not-found', { connection: name }));
    return doc;
  }

  /** With the grants as they are: those to namespaces that were deleted have ended. */
  private async visible(
    docs: readonly RegisteredConnectionDoc[],
    identity: Identity,
  ): Promise<readonly RegisteredConnectionDoc[]> {
    const { connections } = await this.registry.latest();
    return docs.flatMap((doc) => {
      const known = connections.get(doc.name);
      if (known === undefined || !maySee(identity, known)) return [];
      return [{ ...doc, registration: { ...doc.registration, namespaces: known.namespaces } }];
    });
  }
}
