/**
 * CB-Ladybug's reason codes, which its API shows and events of earlier releases record, and Fairlead's own, which events
 * record and every other API shows.
 */
const OWN: Readonly<Record<string, string>> = {
  InvalidMCIRReason: 'ConnectionUnusable',
  CreateVpcFailedReason: 'NetworkFailed',
  CreateSecurityGroupFailedReason: 'FirewallFailed',
  CreateSSHKeyFailedReason: 'SSHKeyFailed',
  CreateVmImageFailedReason: 'ImageUnavailable',
  CreateVmSpecFailedReason: 'MachineTypeUnavailable',
  CreateMCISFailedReason: 'MachineCreationFailed',
  GetMCISFailedReason: 'MachineLookupFailed',
  DeleteMCISFailedReason: 'MachineDeletionFailed',
  CreateNLBFailedReason: 'LoadBalancerFailed',
  AddNodeEntityFailedReason: 'MachineAddressMissing',
  SetupBoostrapFailedReason: 'BootstrapFailed',
  SetupHaproxyFailedReason: 'ApiBalancingFailed',
  InitExternalEtcdFailedReason: 'ExternalEtcdFailed',
  InitControlPlaneFailedReason: 'ControlPlaneInitFailed',
  JoinControlPlaneFailedReason: 'ControlPlaneJoinFailed',
  JoinWorkerFailedReason: 'WorkerJoinFailed',
  SetupNetworkCNIFailedReason: 'NetworkAddonFailed',
  SetupStorageClassFailedReason: 'StorageClassFailed',
  SetupCCMFailedReason: 'CloudControllerFailed',
};

const SUFFIX = 'Reason';
const LADYBUG: ReadonlyMap<string, string> = new Map(Object.entries(OWN).map(([theirs, ours]) => [ours, theirs]));

/** Fairlead's code for a recorded reason; refusal codes are returned unchanged. */
export const reasonCodeOf = (recorded: string): string =>
  OWN[recorded] ?? (recorded.endsWith(SUFFIX) ? recorded.slice(0, -SUFFIX.length) : recorded);

/**
 * Errors that CB-Ladybug reports only after it has recorded the cluster: its status then has a reason where Fairlead
 * has a refusal code.
 */
const REJECTIONS: Readonly<Record<string, string>> = {
  'connection.unknown': 'InvalidMCIRReason',
  'connection.provider-unknown': 'InvalidMCIRReason',
  'cluster.spec-unknown': 'InvalidMCIRReason',
  'cluster.spec-cpu': 'InvalidMCIRReason',
  'cluster.spec-memory': 'InvalidMCIRReason',
  'cluster.region-unknown': 'InvalidMCIRReason',
  'cluster.machines-exist': 'AlreadyExistMCISFailedReason',
  'cluster.cloud-controller-provider': 'SetupCCMFailedReason',
  'cluster.cloud-controller-closed': 'SetupCCMFailedReason',
  'cluster.role-missing': 'SetupCCMFailedReason',
};

/** CB-Ladybug's code for one of Fairlead's; a failure that CB-Ladybug does not know gets a code in its style. */
export const ladybugReasonOf = (code: string): string =>
  REJECTIONS[code] ?? LADYBUG.get(code) ?? (code === '' || code.includes('.') ? code : `${code}${SUFFIX}`);
