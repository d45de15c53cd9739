import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import type { Cause } from '@fairlead/event-sourcing';
import { Inject, Injectable } from '@nestjs/common';
import { retryOnConflict } from '../append.conflict.js';
import {
  resources,
  resourcesStream,
  type AnswerVerification,
  type RecordResource,
  type ResourceFact,
} from './resources.decider.js';

/** States changes of a connection's shared resources; known facts are not stated again. */
@Injectable()
export class ResourcesLog {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  record(fact: ResourceFact, cause: Cause): Promise<void> {
    return this.carryOut({ type: 'RecordResource', data: fact }, cause);
  }

  /** States the fact even if the log already does, as the answer to a request. */
  answer(fact: AnswerVerification['data'], cause: Cause): Promise<void> {
    return this.carryOut({ type: 'AnswerVerification', data: fact }, cause);
  }

  private async carryOut(command: RecordResource | AnswerVerification, cause: Cause): Promise<void> {
    const stream = resourcesStream(command.data.data.connection);
    retryOnConflict(await this.handle(resources, stream, command, cause), stream.context);
  }
}
