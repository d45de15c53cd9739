import { runService } from '@fairlead/service-kit';
import { infraDefinition } from './infra.definition.js';

void runService('infra-svc', infraDefinition);
