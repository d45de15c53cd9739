import type { ProviderOperation } from '../providers/provider.ports.js';
import { PROVIDER_OPERATIONS } from '../providers/provider.ports.js';

/**
 * CB-Ladybug's reason codes by operation; it has none for deletions and reservations, so those are Fairlead's, in its
 * style.
 */
const REASONS = {
  'verify connection': 'InvalidMCIRReason',
  'list specs': 'InvalidMCIRReason',
  'resolve region': 'InvalidMCIRReason',
  'resolve spec': 'CreateVmSpecFailedReason',
  'resolve image': 'CreateVmImageFailedReason',
  'ensure network': 'CreateVpcFailedReason',
  'ensure firewall': 'CreateSecurityGroupFailedReason',
  'ensure SSH key': 'CreateSSHKeyFailedReason',
  'delete SSH key': 'DeleteSSHKeyFailedReason',
  'create machines': 'CreateMCISFailedReason',
  'describe machines': 'GetMCISFailedReason',
  'list machines': 'GetMCISFailedReason',
  'delete machine': 'DeleteMCISFailedReason',
  'delete machines': 'DeleteMCISFailedReason',
  'ensure load balancer': 'CreateNLBFailedReason',
  'delete load balancer': 'DeleteMCISFailedReason',
  'reserve machines': 'ReserveMachinesFailedReason',
  'release reservation': 'DeleteMCISFailedReason',
  'control power': 'ControlPowerFailedReason',
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
  if (operation === USE_MACHINE) return 'AddNodeEntityFailedReason';
  return isProviderOperation(operation) ? REASONS[operation] : REASONS['create machines'];
};
