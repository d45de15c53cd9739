import { runService } from '@fairlead/service-kit';
import { gateway } from './gateway.definition.js';

void runService(gateway);
