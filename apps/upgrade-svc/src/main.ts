import { runService } from '@fairlead/service-kit';
import { readSettings } from './config.js';
import { upgradeService } from './definition.js';

void runService('upgrade-svc', (env) => upgradeService(readSettings(env)));
