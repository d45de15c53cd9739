import { runService } from '@fairlead/service-kit';
import { upgradeService } from './definition.js';

await runService(upgradeService);
