import type { Operation } from './bootstrap.planner.js';

/** CB-Ladybug's reason code of each step (spelled as Ladybug spells it); steps that Ladybug does not have follow its pattern. */
const REASONS: Readonly<Record<Exclude<Operation['step'], 'InstallAddons'>, string>> = {
  BootstrapHost: 'SetupBoostrapFailedReason',
  VerifyNode: 'SetupBoostrapFailedReason',
  BalanceApi: 'InitControlPlaneFailedReason',
  SetupExternalEtcd: 'InitExternalEtcdFailedReason',
  AddEtcdMember: 'JoinControlPlaneFailedReason',
  InitControlPlane: 'InitControlPlaneFailedReason',
  InstallNetwork: 'SetupNetworkCNIFailedReason',
  JoinControlPlane: 'JoinControlPlaneFailedReason',
  VerifyControlPlane: 'JoinControlPlaneFailedReason',
  JoinWorker: 'JoinWorkerFailedReason',
  SetNodeLabels: 'SetNodeLabelsFailedReason',
  ConfigureAuthentication: 'ConfigureAuthenticationFailedReason',
  AuthorizeUsers: 'AuthorizeUsersFailedReason',
  RemoveNode: 'RemoveNodeFailedReason',
  KeepNode: 'KeepNodeFailedReason',
  UpdateAgent: 'UpdateAgentFailedReason',
  RenewCredential: 'RenewCredentialFailedReason',
  TakeOverAgent: 'TakeOverAgentFailedReason',
  PlaceSnapshot: 'PlaceSnapshotFailedReason',
  RemoveSnapshot: 'RemoveSnapshotFailedReason',
  VerifySnapshot: 'VerifySnapshotFailedReason',
  RefreshKubeconfig: 'RefreshKubeconfigFailedReason',
  AddAuthorizedKey: 'ReplaceSshKeyFailedReason',
  RemoveAuthorizedKey: 'ReplaceSshKeyFailedReason',
  DismantleCluster: 'DismantleClusterFailedReason',
  CallHook: 'CallHookFailedReason',
};

/** A failed addon is reported by what it was about: storage has a code of its own, the others are part of the network. */
export const reasonOf = (step: Operation['step'], operation: string): string => {
  if (step === 'InstallAddons')
    return operation.includes('storage') ? 'SetupStorageClassFailedReason' : 'SetupNetworkCNIFailedReason';
  return REASONS[step];
};
