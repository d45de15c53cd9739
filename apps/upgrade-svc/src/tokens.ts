/** Injection tokens of this service's own parts. */
export const KUBERNETES_API = Symbol('upgrade-svc.kubernetes-api');
export const CLUSTER_ACCESS = Symbol('upgrade-svc.cluster-access');
export const CHECKS_BY_AGENTS = Symbol('upgrade-svc.checks-by-agents');
export const CLUSTER_SURVEY = Symbol('upgrade-svc.cluster-survey');
export const CHECK_SOURCES = Symbol('upgrade-svc.check-sources');
export const SNAPSHOT_KEEPER = Symbol('upgrade-svc.snapshot-keeper');
export const HOOK_CALLER = Symbol('upgrade-svc.hook-caller');
export const GATE_SOURCES = Symbol('upgrade-svc.gate-sources');
export const SETTINGS = Symbol('upgrade-svc.settings');
