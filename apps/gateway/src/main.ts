import { runService } from '@fairlead/service-kit';
import { readSettings } from './config.js';
import { gatewayService } from './service.js';

void runService('gateway', (env) => gatewayService(readSettings(env)));
