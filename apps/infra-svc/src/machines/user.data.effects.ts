import {
  bootsFromUserData,
  bootstrapDataOf,
  bootstrapKeyRef,
  bootstrapWindowAt,
  bootstrapWindowEnd,
  joinCommandOf,
  ExternalFailure,
  type ConnectionName,
} from '@fairlead/contracts';
import { CLOCK, poolToken, SECRETS, type Clock, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../config.js';
import type { ClusterRef } from '../providers/group.names.js';
import { SETTINGS } from '../tokens.js';
import type { Cluster } from './machines.state.js';

const SCRIPT = { path: '/join/install.sh' };

const failure = (target: string, message: string): ExternalFailure =>
  new ExternalFailure({ operation: 'create machines', target, message, retryable: false });

/** User data that machines of a pool run at their first boot. */
@Injectable()
export class UserData {
  constructor(
    @Inject(SECRETS) private readonly secrets: Pick<SecretStore, 'get'>,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'gatewayUrl' | 'gatewayCa'>,
  ) {}

  /** Returns the user data of each of these pools that declares some, with a valid token. */
  async of(
    cluster: Cluster,
    ref: ClusterRef,
    { pools, simulated }: { readonly pools: readonly string[]; readonly simulated: ReadonlySet<ConnectionName> },
  ): Promise<ReadonlyMap<string, string>> {
    const known = new Map<string, string>();
    for (const pool of new Set(pools)) {
      const found = cluster.declared?.spec.pools.find(({ name }) => name === pool);
      // The gateway refuses this; on such a host it would run as Fairlead's own user.
      if (found?.bootstrap?.data !== undefined && simulated.has(found.connection))
        throw failure(pool, 'simulated machines run no bootstrap data that a manifest gives');
      const data = await this.ofPool(cluster, ref, pool);
      if (data !== undefined) known.set(pool, data);
    }
    return known;
  }

  private async ofPool(
    { declared }: Cluster,
    { namespace, spec: { name } }: ClusterRef,
    pool: string,
  ): Promise<string | undefined> {
    const found = declared?.spec.pools.find((one) => one.name === pool);
    if (found === undefined || !bootsFromUserData(found)) return undefined;
    const { gatewayUrl: server, gatewayCa: ca } = this.settings;
    if (server === undefined)
      throw failure(pool, 'machines cannot join by themselves: GATEWAY_URL of infra-svc is not set');
    const admission = declared?.bootstrapped?.[pool];
    const key = admission === undefined ? undefined : await this.secrets.get(bootstrapKeyRef(admission));
    if (admission === undefined || key === undefined) throw failure(pool, 'the bootstrap data of the pool are gone');
    const window = bootstrapWindowAt(this.clock.now().getTime());
    const issued = { namespace, cluster: name, token: poolToken(key, admission, window) };
    return bootstrapDataOf({
      command: joinCommandOf({ server, ca, issued, script: SCRIPT }),
      format: 'cloud-config',
      given: found.bootstrap?.data,
      cluster: `${namespace}/${name}`,
      pool,
      expiresAt: new Date(bootstrapWindowEnd(window)).toISOString(),
    });
  }
}
