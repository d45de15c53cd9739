import type { ProviderOperation } from '../providers/provider.ports.js';
import { PROVIDER_OPERATIONS } from '../providers/provider.ports.js';

/** CB-Ladybug's reason codes by what was tried; it has none for deletions and reservations, so those are ours, in its style. */
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
} as const satisfies Record<ProviderOperation, string>;

/** What is done with the answer of a provider: a machine has what a node needs. */
export const USE_MACHINE = 'use machine';

const isProviderOperation = (operation: string): operation is ProviderOperation =>
  (PROVIDER_OPERATIONS as readonly string[]).includes(operation);

/** The reason code of a failed operation; what is not a provider's (the event log, a bug) counts as the creation of machines. */
export const reasonOf = (operation: string): string => {
  if (operation === USE_MACHINE) return 'AddNodeEntityFailedReason';
  return isProviderOperation(operation) ? REASONS[operation] : REASONS['create machines'];
};
