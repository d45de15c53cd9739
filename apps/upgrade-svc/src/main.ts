import { runService } from '@fairlead/service-kit';
import { upgradeService } from './definition.js';

void runService(upgradeService);
