import {
  apiNameOf,
  bootsFromUserData,
  CONTROL_PLANE_POOL,
  isDnsName,
  leaseFaults,
  refuse,
  traitsOf,
  type DeclaredSpec,
  type Refusal,
} from '@fairlead/contracts';
import { isPublished, type Registered } from '@fairlead/domain';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { ClusterAddress } from '../common/cluster.address.js';
import { SETTINGS, type Settings } from '../config.js';
import { VirtualAddressChecks } from './virtual-addresses.checks.js';

/** Only some providers make machines with user data; those of a simulation are processes of Fairlead, on which no tenant runs programs. */
const userDataFaults = ({ pools }: DeclaredSpec, { connections }: Registered): readonly Refusal[] =>
  pools.flatMap((pool, at) => {
    const { name, connection } = pool;
    const provider = connections.get(connection)?.provider;
    if (provider === undefined || !bootsFromUserData(pool)) return [];
    const { takesUserData, isSimulated } = traitsOf(provider);
    const field = `spec.pools[${at}].bootstrap`;
    if (!takesUserData) return [refuse('pool.user-data', { pool: name, provider, connection }, `${field}.by`)];
    return isSimulated && pool.bootstrap?.data !== undefined
      ? [refuse('pool.data-simulated', { pool: name, connection }, `${field}.data`)]
      : [];
  });

/** Hosts that exist already keep the system that they have. */
const imageFaults = ({ controlPlane, pools }: DeclaredSpec, { connections }: Registered): readonly Refusal[] =>
  [
    { ...controlPlane, pool: CONTROL_PLANE_POOL, field: 'spec.controlPlane.image' },
    ...pools.map((pool, at) => ({ ...pool, pool: pool.name, field: `spec.pools[${at}].image` })),
  ].flatMap(({ image, connection, pool, field }) => {
    const provider = connections.get(connection)?.provider;
    if (image === undefined || provider === undefined || traitsOf(provider).choosesImages) return [];
    return [refuse('pool.image-fixed', { pool, provider, connection }, field)];
  });

/** Of a new cluster: afterwards the name is that which was reserved, whatever the domain is. */
const publicationFaults = (cluster: string, spec: DeclaredSpec, domain: string | undefined): readonly Refusal[] => {
  if (!isPublished(spec)) return [];
  const field = 'spec.endpoint.publish';
  if (domain === undefined) return [refuse('cluster.publish-no-domain', {}, field)];
  const name = apiNameOf(cluster, domain);
  return isDnsName(name) ? [] : [refuse('cluster.publish-name', { cluster, name }, field)];
};

/** Finds what is wrong with a change of a manifest at this time, beside the nodes that the cluster has. */
@Injectable()
export class ChangeChecks {
  constructor(
    @Inject(VirtualAddressChecks) private readonly addresses: VirtualAddressChecks,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'publishDomain'>,
  ) {}

  /** `before` undefined: there is no such cluster yet. */
  async faults(
    address: ClusterAddress,
    { before, after }: { readonly before: DeclaredSpec | undefined; readonly after: DeclaredSpec },
    known: Registered,
  ): Promise<readonly Refusal[]> {
    return [
      ...leaseFaults(after.lease, before?.lease, this.clock.now().toISOString()),
      ...userDataFaults(after, known),
      ...imageFaults(after, known),
      ...(before === undefined ? publicationFaults(address.cluster, after, this.settings.publishDomain) : []),
      ...(await this.addresses.faults(address, after, known)),
    ];
  }
}
