import type { ProviderOperation } from '../providers/provider.ports.js';
import { PROVIDER_OPERATIONS } from '../providers/provider.ports.js';

/** The reason code by operation; below /ladybug, the gateway shows CB-Ladybug's (failure.reasons of contracts). */
const REASONS = {
  'verify connection': 'ConnectionUnusable',
  'list specs': 'ConnectionUnusable',
  'resolve region': 'ConnectionUnusable',
  'resolve spec': 'MachineTypeUnavailable',
  'resolve image': 'ImageUnavailable',
  'ensure network': 'NetworkFailed',
  'ensure firewall': 'FirewallFailed',
  'ensure SSH key': 'SSHKeyFailed',
  'delete SSH key': 'DeleteSSHKeyFailed',
  'create machines': 'MachineCreationFailed',
  'describe machines': 'MachineLookupFailed',
  'list machines': 'MachineLookupFailed',
  'delete machine': 'MachineDeletionFailed',
  'delete machines': 'MachineDeletionFailed',
  'ensure load balancer': 'LoadBalancerFailed',
  'delete load balancer': 'MachineDeletionFailed',
  'reserve machines': 'ReserveMachinesFailed',
  'release reservation': 'MachineDeletionFailed',
  'control power': 'ControlPowerFailed',
} as const satisfies Record<ProviderOperation, string>;

/** The operation of using a provider's response: a machine has everything that a node needs. */
export const USE_MACHINE = 'use machine';

const isProviderOperation = (operation: string): operation is ProviderOperation =>
  (PROVIDER_OPERATIONS as readonly string[]).includes(operation);

/**
 * The reason code of a failed operation; operations that are not a provider's (the event log, a bug) count as the
 * creation of machines.
 */
export const reasonOf = (operation: string): string => {
  if (operation === USE_MACHINE) return 'MachineAddressMissing';
  return isProviderOperation(operation) ? REASONS[operation] : REASONS['create machines'];
};
