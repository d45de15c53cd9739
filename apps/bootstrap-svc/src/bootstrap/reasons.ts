import type { PlannedTask } from './bootstrap.planner.js';

/**
 * CB-Ladybug's reason code of each step (with Ladybug's spelling); steps that Ladybug does not have follow its pattern.
 */
const REASONS: Readonly<Record<PlannedTask['step'], string>> = {
  AdmitHost: 'SetupBoostrapFailedReason',
  BootstrapHost: 'SetupBoostrapFailedReason',
  VerifyNode: 'SetupBoostrapFailedReason',
  BalanceApi: 'SetupHaproxyFailedReason',
  PublishApi: 'PublishApiFailedReason',
  SetupExternalEtcd: 'InitExternalEtcdFailedReason',
  AddEtcdMember: 'JoinControlPlaneFailedReason',
  InitControlPlane: 'InitControlPlaneFailedReason',
  InstallNetwork: 'SetupNetworkCNIFailedReason',
  InstallAddons: 'SetupNetworkCNIFailedReason',
  ReapplyDeclared: 'ReapplyDeclaredFailedReason',
  InstallStorage: 'SetupStorageClassFailedReason',
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

export const reasonOf = (step: PlannedTask['step']): string => REASONS[step];
