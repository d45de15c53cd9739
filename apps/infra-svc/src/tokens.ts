/** Nest injection tokens of infra-svc's own ports. */
export const CONFIG = Symbol('infra.config');
export const CONNECTIONS = Symbol('infra.connections');
export const LOCKS = Symbol('infra.locks');
export const OFFERS = Symbol('infra.offers');
export const PROVIDER_KINDS = Symbol('infra.provider-kinds');
export const SHARED_RESOURCES = Symbol('infra.shared-resources');
export const HOST_SHELL = Symbol('infra.host-shell');
export const SSH_KEYS = Symbol('infra.ssh-keys');
export const STOCK = Symbol('infra.stock');
export const TRUST = Symbol('infra.trust');
export const OWN_HOSTS = Symbol('infra.own-hosts');
export const VALIDATION = Symbol('infra.validation');
export const TENANCY = Symbol('infra.tenancy');
