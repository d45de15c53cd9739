import * as z from 'zod';
import { defineEvent } from './definition.js';

/** Written by each service about its own consumers, in its own context. */
export const quarantineEvents = {
  ClusterQuarantined: defineEvent({
    version: 1,
    writer: 'every-service',
    context: 'quarantine-<service>',
    doc: 'A consumer of a service could not process an event; it processes no more events of this cluster until an operator releases it.',
    data: z.strictObject({
      service: z.string(),
      consumer: z.string(),
      eventSeq: z.int().describe('The event that could not be taken'),
      eventId: z.string(),
      error: z.string().describe('The first line of the fault'),
    }),
  }),
} as const;
