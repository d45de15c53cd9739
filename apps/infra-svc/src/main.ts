import { runService } from '@fairlead/service-kit';
import { infraDefinition } from './infra.definition.js';

void runService(infraDefinition(process.env));
