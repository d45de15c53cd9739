/** CB-Ladybug's reason codes, in which events record failures, and ours, which are shown everywhere but below its base. */
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
};

const SUFFIX = 'Reason';
const LADYBUG: ReadonlyMap<string, string> = new Map(Object.entries(OWN).map(([theirs, ours]) => [ours, theirs]));

/** Our code for a reason as an event records it; the code of a refusal is one already. */
export const reasonCodeOf = (recorded: string): string =>
  OWN[recorded] ?? (recorded.endsWith(SUFFIX) ? recorded.slice(0, -SUFFIX.length) : recorded);

/** What CB-Ladybug finds only after it has recorded the cluster: its status then has a reason where ours has the code of the refusal. */
const REJECTIONS: Readonly<Record<string, string>> = {
  'connection.unknown': 'InvalidMCIRReason',
  'connection.provider-unknown': 'InvalidMCIRReason',
  'cluster.spec-unknown': 'InvalidMCIRReason',
  'cluster.spec-cpu': 'InvalidMCIRReason',
  'cluster.spec-memory': 'InvalidMCIRReason',
  'cluster.region-unknown': 'InvalidMCIRReason',
  'cluster.machines-exist': 'AlreadyExistMCISFailedReason',
};

/** CB-Ladybug's code for one of ours; for a failure that it does not know, one in its style. */
export const ladybugReasonOf = (code: string): string =>
  REJECTIONS[code] ?? LADYBUG.get(code) ?? (code === '' || code.includes('.') ? code : `${code}${SUFFIX}`);
