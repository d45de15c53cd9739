/** CB-Ladybug's reason code of each step (spelled as Ladybug spells it). */
const REASONS: Readonly<Record<string, string>> = {
  BootstrapHost: 'SetupBoostrapFailedReason',
  VerifyNode: 'SetupBoostrapFailedReason',
  BalanceApi: 'InitControlPlaneFailedReason',
  SetupExternalEtcd: 'InitExternalEtcdFailedReason',
  InitControlPlane: 'InitControlPlaneFailedReason',
  InstallNetwork: 'SetupNetworkCNIFailedReason',
  JoinControlPlane: 'JoinControlPlaneFailedReason',
  VerifyControlPlane: 'JoinControlPlaneFailedReason',
  JoinWorker: 'JoinWorkerFailedReason',
};

/** A failed addon is told by its own name: storage has a code of its own, the others are part of the network. */
export const reasonOf = (step: string, operation: string): string => {
  if (step === 'InstallAddons')
    return operation.includes('storage') ? 'SetupStorageClassFailedReason' : 'SetupNetworkCNIFailedReason';
  return REASONS[step] ?? `${step}FailedReason`;
};
