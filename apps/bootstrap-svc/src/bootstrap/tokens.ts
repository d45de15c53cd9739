/** Injection tokens of this service's own parts. */
export const HOST_ACCESS = Symbol('bootstrap-svc.host-access');
export const HOSTS_KNOWN = Symbol('bootstrap.hosts-known');
export const HOST_SHELL = Symbol('bootstrap-svc.host-shell');
export const KUBERNETES_API = Symbol('bootstrap-svc.kubernetes-api');
export const CLUSTER_ACCESS = Symbol('bootstrap-svc.cluster-access');
export const ETCD_AUTHORITIES = Symbol('bootstrap-svc.etcd-authorities');
export const AGENT_KIT = Symbol('bootstrap-svc.agent-kit');
export const REMEMBERED_SECRETS = Symbol('bootstrap-svc.remembered-secrets');
export const JOIN_CREDENTIALS = Symbol('bootstrap-svc.join-credentials');
export const SETTINGS = Symbol('bootstrap-svc.settings');
export const SNAPSHOTS = Symbol('bootstrap-svc.snapshots');
export const LOG_READERS = Symbol('bootstrap-svc.log-readers');
export const RELEASE_ENGINES = Symbol('bootstrap-svc.release-engines');
export const RELEASE_SOURCES = Symbol('bootstrap-svc.release-sources');
export const HOOK_CALLER = Symbol('bootstrap-svc.hook-caller');
