import { runService } from '@fairlead/service-kit';
import { readSettings } from './config.js';
import { bootstrapService } from './service.js';

void runService('bootstrap-svc', (env) => bootstrapService(readSettings(env)));
