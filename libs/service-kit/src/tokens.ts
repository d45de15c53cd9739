// Nest injection tokens of the providers that runService adds to every module of the service.

/** `Ask`: prepared statements on the service's own database, for reads that every event or task needs. */
export const ASK = Symbol('fairlead.ask');
export const CLOCK = Symbol('fairlead.clock');
export const DATABASE = Symbol('fairlead.database');
export const METRICS = Symbol('fairlead.metrics');
export const SECRETS = Symbol('fairlead.secrets');
export const SERVICE_CONFIG = Symbol('fairlead.service-config');
