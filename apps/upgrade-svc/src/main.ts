import { runService } from '@fairlead/service-kit';
import { readSettings } from './config.js';
import { upgradeService } from './service.js';

void runService('upgrade-svc', (env) => upgradeService(readSettings(env)));
