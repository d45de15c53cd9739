export { AGENT_UNIT, agentGuard, agentUnit } from './agent/agent.unit.js';
export { AUTHENTICATION_FILE, authenticationConfig } from './kubeadm/authentication.config.js';
export * from './kubeadm/kubeadm.config.js';
export * from './kubeadm/kubeadm.types.js';
export { addressesHaproxyConfig } from './balancer/addresses.haproxy.js';
export { addressesCheck, addressesKeepalivedConfig } from './balancer/addresses.keepalived.js';
export { apiBackends, DEAD_PEERS, OLD_CONNECTIONS_KEPT } from './balancer/api.backend.js';
export { ADDRESSES, BALANCER } from './balancer/balancer.paths.js';
export { addressesHaproxyUnit, addressesKeepalivedUnit } from './balancer/balancer.units.js';
export { hostPort } from './balancer/host.port.js';
export { INTERFACE, keepalivedConfig } from './balancer/keepalived.config.js';
export type { ControlPlanePeer } from './balancer/haproxy.config.js';
export type { BalanceApiInput, BalanceApiResult } from './steps/balance-api.script.js';
export type { PublishApiInput, PublishApiResult } from './steps/publish-api.script.js';
export { TUNNEL_CLIENT, servicesUnit, tunnelUnit } from './tunnel/tunnel.unit.js';
export { clientUrlOf, ETCD_CLIENT, LOCAL_ETCD, peerOfUrl, type EtcdPeer } from './etcd/etcd.paths.js';
export { etcdctlPod } from './etcd/etcdctl.pod.js';
export { etcdUnit } from './etcd/etcd.unit.js';
export { EPOCH_FILE, underEpoch } from './shell/epoch.js';
export { hostPath, quote } from './shell/quote.js';
export { parseResult } from './shell/result.js';
export { inputOfSentStep, nameOfSentStep, sentStep, stepFile } from './shell/sent.step.js';
export { STEPS, type StepName } from './shell/script.js';
export * from './steps/steps.js';
export type { CredentialsInput, CredentialsResult } from './steps/credentials.script.js';
export type { EtcdHealthInput, EtcdHealthResult } from './steps/etcd-health.script.js';
export type { EtcdCertificates, EtcdMemberInput, EtcdMemberResult, EtcdPair } from './steps/etcd-member.script.js';
export type { EtcdRemoveMemberInput, EtcdRemoveMemberResult } from './steps/etcd-remove-member.script.js';
export type { KubeadmInitInput, KubeadmInitResult } from './steps/kubeadm-init.script.js';
export type {
  KubeadmJoinControlPlaneInput,
  KubeadmJoinControlPlaneResult,
  KubeadmJoinResult,
  KubeadmJoinWorkerInput,
} from './steps/kubeadm-join.script.js';
export { DEVICES } from './steps/pod.devices.js';
export type { KubeadmResetInput, KubeadmResetResult } from './steps/kubeadm-reset.script.js';
export {
  type CheckPortsInput,
  type CheckPortsResult,
  type PortAnswer,
  type PortTarget,
} from './steps/check-ports.script.js';
export { PROBES_MAX, type HostFacts, type LookInput, type LookResult } from './steps/look.script.js';
export * from './steps/look.verdict.js';
export type { OwnRuntime, PrepareInput, PrepareResult } from './steps/prepare.script.js';
export type { AuthenticationInput, AuthenticationResult } from './steps/authentication.script.js';
export type { AuthorizedKeysInput, AuthorizedKeysResult } from './steps/authorized-keys.script.js';
export type { NodeExecInput, NodeExecResult } from './steps/node-exec.script.js';
export type { NodeLogInput, NodeLogResult } from './steps/node-log.script.js';
export { VERIFIED_SNAPSHOT, type VerifySnapshotResult } from './steps/verify-snapshot.script.js';
export type { RemoveSnapshotInput, RemoveSnapshotResult } from './steps/remove-snapshot.script.js';
export type { VerifyInput, VerifyResult } from './steps/verify.script.js';
export { HOST_UNIT } from './join/host.unit.js';
export { installScript, type InstallInput } from './join/install.script.js';
