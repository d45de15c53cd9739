// Nest injection tokens of what runService provides to every module of the service.

/** `Ask`: reads the service's own database by prepared statements, for what is read for each event or task. */
export const ASK = Symbol('fairlead.ask');
export const CLOCK = Symbol('fairlead.clock');
export const DATABASE = Symbol('fairlead.database');
export const METRICS = Symbol('fairlead.metrics');
export const SECRETS = Symbol('fairlead.secrets');
export const SERVICE_CONFIG = Symbol('fairlead.service-config');
