import { refuse, type Refusal } from '@fairlead/contracts';
import type { CapacityRequest } from '../../providers/provider.ports.js';
import * as answers from './openstack.answers.js';
import type { CloudCalls } from './openstack.calls.js';
import { externalNetwork } from './neutron.networks.js';

/** One quota; a limit of -1 means unlimited. */
interface Quota {
  readonly what: string;
  readonly limit: number;
  readonly used: number;
  readonly desired: number;
}

const UNLIMITED = -1;

/** The first quota of the project that machines of these sizes would exceed, or undefined. */
export const quotaRefusal = (project: string, quotas: readonly Quota[]): Refusal | undefined => {
  const over = quotas.find(({ limit, used, desired }) => limit !== UNLIMITED && desired > 0 && used + desired > limit);
  if (over === undefined) return undefined;
  const { what, limit, used, desired } = over;
  return refuse('quota.exceeded', { scope: project, limit, what, used, desired });
};

/** Nova's quotas, with the usage of the project. */
export const serverQuotas = async (
  nova: CloudCalls,
  { specs }: CapacityRequest,
  flavors: readonly answers.Flavor[],
): Promise<readonly Quota[]> => {
  const { absolute: has } = (await nova.get('/limits', answers.Limits)).limits;
  const sizes = specs.flatMap((name) => flavors.filter((flavor) => flavor.name === name));
  const sum = (of: (flavor: answers.Flavor) => number): number => sizes.reduce((all, flavor) => all + of(flavor), 0);
  const quota = (what: string, max: string, used: string, desired: number): Quota => ({
    what,
    limit: has[max] ?? UNLIMITED,
    used: has[used] ?? 0,
    desired,
  });
  return [
    quota('servers', 'maxTotalInstances', 'totalInstancesUsed', sizes.length),
    quota(
      'vCPUs',
      'maxTotalCores',
      'totalCoresUsed',
      sum(({ vcpus }) => vcpus),
    ),
    quota(
      'MiB of memory',
      'maxTotalRAMSize',
      'totalRAMUsed',
      sum(({ ram }) => ram),
    ),
  ];
};

/** Neutron's quotas. Only administrators may query the usage, so it is counted. */
export const addressQuotas = async (neutron: CloudCalls, { specs }: CapacityRequest): Promise<readonly Quota[]> => {
  const { session, signal } = neutron;
  const project = await session.projectId('verify connection', signal);
  const { quota } = await neutron.get(`/quotas/${project}`, answers.NetworkQuota);
  const count = async (kind: 'ports' | 'floatingips'): Promise<number> =>
    (await neutron.list(`/${kind}?project_id=${project}&fields=id`, kind, answers.Identified)).length;
  const ports = { what: 'ports', limit: quota['port'] ?? UNLIMITED, used: await count('ports'), desired: specs.length };
  const wants = session.at.settings.floatingIps && (await externalNetwork(neutron)) !== undefined;
  if (!wants) return [ports];
  const limit = quota['floatingip'] ?? UNLIMITED;
  return [ports, { what: 'floating IPs', limit, used: await count('floatingips'), desired: specs.length }];
};
