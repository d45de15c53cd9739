import { bootsFromUserData, refuse, traitsOf, type DeclaredPool, type PoolPath } from '@fairlead/contracts';
import { Inject, Injectable } from '@nestjs/common';
import type { Identity } from '../access/identity.js';
import { ConnectionAccess } from '../connections/connection.access.js';
import { clusterUnknown } from '../http/command.answers.js';
import { RefusalError } from '../http/refusal.error.js';
import { ManifestQueries } from '../manifest/manifest.queries.js';
import type { JoinedPool } from './joins.commands.js';

/** Pools whose hosts join by themselves. */
@Injectable()
export class JoiningPools {
  constructor(
    @Inject(ManifestQueries) private readonly manifests: ManifestQueries,
    @Inject(ConnectionAccess) private readonly access: ConnectionAccess,
  ) {}

  /** Rejects with a refusal where machines are made. */
  async one(
    { namespace, cluster, pool: name }: PoolPath,
    identity: Identity,
  ): Promise<JoinedPool & Pick<DeclaredPool, 'bootstrap'>> {
    const address = { namespace, cluster };
    const manifest = await this.manifests.one(address);
    if (manifest === undefined) throw new RefusalError(clusterUnknown(address));
    const pool = manifest.spec.pools.find((one) => one.name === name);
    if (pool === undefined) throw new RefusalError(refuse('pool.unknown', { namespace, cluster, pool: name }));
    const { connection, bootstrap } = pool;
    const { provider } = (await this.access.one(connection, identity)).registration;
    if (!traitsOf(provider).hostsJoin && !bootsFromUserData(pool))
      throw new RefusalError(refuse('join.pool-makes-machines', { pool: name, connection, provider }));
    const uid = manifest.metadata.uid as JoinedPool['uid'];
    return { ...address, uid, pool: name, connection, bootstrap };
  }
}
