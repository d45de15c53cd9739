import type { Process } from '@fairlead/event-sourcing';
import type { ServiceDefinition } from '@fairlead/service-kit';
import { bootstrapModule, type Adapters } from './bootstrap.module.js';
import { makeBootstrapProcess } from './bootstrap/bootstrap.process.js';
import type { Settings } from './config.js';
import { RunningSteps1700000000001 } from './migrations/1700000000001-running-steps.js';

/** Everything that makes bootstrap-svc this service. It has no read models: the gateway shows what it states. */
export const bootstrapService = (settings: Settings, adapters?: Adapters): ServiceDefinition => ({
  name: 'bootstrap-svc',
  module: bootstrapModule(settings, adapters),
  projections: [],
  processes: [makeBootstrapProcess(settings.limits) as Process<never>],
  migrations: [RunningSteps1700000000001],
  entities: [],
  jobConcurrency: settings.jobConcurrency,
});
