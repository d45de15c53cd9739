import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import type { Cause } from '@fairlead/event-sourcing';
import { Inject, Injectable } from '@nestjs/common';
import { orRetry } from '../outcome.effects.js';
import { resources, resourcesStream, type ResourceFact } from './resources.decider.js';

/** States what is true of a connection's shared things; what the log says already is not said again. */
@Injectable()
export class ResourcesLog {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  async record(fact: ResourceFact, cause: Cause): Promise<void> {
    const stream = resourcesStream(fact.data.connection);
    orRetry(await this.handle(resources, stream, { type: 'RecordResource', data: fact }, cause), stream.context);
  }
}
