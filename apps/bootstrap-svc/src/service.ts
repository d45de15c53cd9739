import { defineService, type ServiceDefinition } from '@fairlead/service-kit';
import { bootstrapModule, type Adapters } from './bootstrap.module.js';
import { bootstrapReconciler } from './bootstrap/bootstrap.reconciler.js';
import type { Settings } from './config.js';
import { executionsReconciler } from './executions/executions.reconciler.js';
import { kubeconfigsReconciler } from './kubeconfigs/kubeconfigs.reconciler.js';
import { releasesReconciler } from './releases/releases.reconciler.js';

/** Followed logs may use one in this number of task slots. */
const FOLLOWED_SHARE = 4;

/** The definition of bootstrap-svc. It has no read models: the gateway shows its facts. */
export const bootstrapService = (settings: Settings, adapters?: Adapters): ServiceDefinition =>
  defineService({
    name: 'bootstrap-svc',
    module: bootstrapModule(settings, adapters),
    reconcilers: [
      bootstrapReconciler(settings.limits),
      kubeconfigsReconciler,
      executionsReconciler,
      releasesReconciler,
    ],
    taskConcurrency: settings.taskConcurrency,
    groupLimit: Math.ceil(settings.taskConcurrency / FOLLOWED_SHARE),
  });
