import type { PlannedTask } from './bootstrap.planner.js';

/** The reason code of each step; below /ladybug, the gateway shows CB-Ladybug's (failure.reasons of contracts). */
const REASONS: Readonly<Record<PlannedTask['step'], string>> = {
  AdmitHost: 'BootstrapFailed',
  BootstrapHost: 'BootstrapFailed',
  VerifyNode: 'BootstrapFailed',
  BalanceApi: 'ApiBalancingFailed',
  PublishApi: 'PublishApiFailed',
  SetupExternalEtcd: 'ExternalEtcdFailed',
  AddEtcdMember: 'ControlPlaneJoinFailed',
  InitControlPlane: 'ControlPlaneInitFailed',
  InstallNetwork: 'NetworkAddonFailed',
  InstallAddons: 'NetworkAddonFailed',
  ReapplyDeclared: 'ReapplyDeclaredFailed',
  InstallStorage: 'StorageClassFailed',
  JoinControlPlane: 'ControlPlaneJoinFailed',
  VerifyControlPlane: 'ControlPlaneJoinFailed',
  JoinWorker: 'WorkerJoinFailed',
  SetNodeLabels: 'SetNodeLabelsFailed',
  ConfigureAuthentication: 'ConfigureAuthenticationFailed',
  AuthorizeUsers: 'AuthorizeUsersFailed',
  RemoveNode: 'RemoveNodeFailed',
  KeepNode: 'KeepNodeFailed',
  UpdateAgent: 'UpdateAgentFailed',
  RenewCredential: 'RenewCredentialFailed',
  TakeOverAgent: 'TakeOverAgentFailed',
  PlaceSnapshot: 'PlaceSnapshotFailed',
  RemoveSnapshot: 'RemoveSnapshotFailed',
  VerifySnapshot: 'VerifySnapshotFailed',
  RefreshKubeconfig: 'RefreshKubeconfigFailed',
  AddAuthorizedKey: 'ReplaceSshKeyFailed',
  RemoveAuthorizedKey: 'ReplaceSshKeyFailed',
  DismantleCluster: 'DismantleClusterFailed',
  CallHook: 'CallHookFailed',
};

export const reasonOf = (step: PlannedTask['step']): string => REASONS[step];
