import { runService } from '@fairlead/service-kit';
import { readSettings } from './config.js';
import { infraService } from './service.js';

void runService('infra-svc', (env) => infraService(readSettings(env)));
