import { runService } from '@fairlead/service-kit';
import { infraDefinition } from './infra.definition.js';

await runService(infraDefinition(process.env));
