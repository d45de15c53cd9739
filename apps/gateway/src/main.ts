import { runService } from '@fairlead/service-kit';
import { gateway } from './gateway.definition.js';

await runService(gateway);
