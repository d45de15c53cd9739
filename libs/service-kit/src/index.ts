export * from './clock.js';
export { ConfigurationError, parseEnvironment, type ServiceConfig } from './config.js';
export { deadlineAfter, inTime, type Deadline } from './deadline.js';
export * from './definition.js';
export { ServiceMetrics, type GaugeWish, type Reading } from './metrics/service.metrics.js';
export { runService, startService, type RunningService } from './run.service.js';
export * from './secrets.js';
export { NatsSecrets, open as openSealed, seal } from './secrets.nats.js';
export * from './tokens.js';
