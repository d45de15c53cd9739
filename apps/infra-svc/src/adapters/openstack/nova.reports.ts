import type { ClusterUid, NodeName, OpenstackSettings } from '@fairlead/contracts';
import type { MachineReport } from '../../providers/provider.ports.js';
import type * as answers from './openstack.answers.js';
import { nodeNameOf, uidOf } from './nova.servers.js';

/** The parts of a connection that the report of a server needs. */
export interface Reporting {
  readonly region: string;
  readonly settings: Pick<OpenstackSettings, 'user' | 'profile'>;
}

/** States in which a server does not run. */
const STOPPED: ReadonlySet<string> = new Set([
  'SHUTOFF',
  'PAUSED',
  'SUSPENDED',
  'SHELVED',
  'SHELVED_OFFLOADED',
  'RESCUE',
]);
const RUNNING: ReadonlySet<string> = new Set(['ACTIVE', 'VERIFY_RESIZE', 'PASSWORD']);
const SSH_PORT = 22;

const addressOf = ({ addresses }: answers.Server): string =>
  Object.values(addresses)
    .flat()
    .find((address) => address.version === 4 && (address['OS-EXT-IPS:type'] ?? 'fixed') === 'fixed')?.addr ?? '';

/** Converts a server to the type of the port; `floatingIp` is empty if it has none. */
export const reportOf = (
  server: answers.Server,
  floatingIp: string,
  { region, settings }: Reporting,
): MachineReport => {
  const reported = { id: server.id, name: nodeNameOf(server) as NodeName, uid: uidOf(server) as ClusterUid };
  const { status, key_name: sshKey } = server;
  if (status === 'ERROR')
    return {
      ...reported,
      status: 'failed',
      message: server.fault?.message ?? 'Nova has put it in ERROR, and gives no reason',
    };
  if (STOPPED.has(status)) return { ...reported, status: 'stopped' };
  const privateIp = addressOf(server);
  if (!RUNNING.has(status) || privateIp === '') return { ...reported, status: 'creating' };
  const { user, profile } = settings;
  return {
    ...reported,
    status: 'running',
    publicIp: floatingIp,
    privateIp,
    region,
    zone: server['OS-EXT-AZ:availability_zone'] ?? '',
    ssh: { host: floatingIp === '' ? privateIp : floatingIp, port: SSH_PORT, user, hostKey: null },
    ...(sshKey ? { sshKey } : {}),
    ...(profile === undefined ? {} : { profile }),
  };
};
