/** Nest injection tokens of infra-svc's own ports. */
export const CONNECTIONS = Symbol('infra.connections');
export const OFFERS = Symbol('infra.offers');
export const PROVIDER_KINDS = Symbol('infra.provider-kinds');
export const SHARED_RESOURCES = Symbol('infra.shared-resources');
export const HOST_SHELL = Symbol('infra.host-shell');
export const SETTINGS = Symbol('infra.settings');
export const SSH_KEYS = Symbol('infra.ssh-keys');
export const STOCK = Symbol('infra.stock');
export const TRUST = Symbol('infra.trust');
export const OWN_HOSTS = Symbol('infra.own-hosts');
export const TENANCY = Symbol('infra.tenancy');
export const IDENTITY_PROVIDERS = Symbol('infra.identity-providers');
export const CHART_REPOSITORY = Symbol('infra.chart-repository');
