import * as z from 'zod';
import { defineEvent } from './definition.js';

/** Maximum number of names in an event, each of at most 200 characters. */
export const STALL_NAMES_MAX = 5;

/** Written by each service about its own processes. */
export const processEvents = {
  EventLoopBlocked: defineEvent({
    version: 1,
    writer: 'every-service',
    context: 'process-<service>',
    scope: 'installation',
    doc: 'A process of a service was busy with one piece of work for more than 2 s, in which it did nothing else. At most one is recorded per minute and process.',
    data: z.strictObject({
      service: z.string(),
      blockedMs: z.int().describe('The longest time since the last such event'),
      times: z.int().min(1).describe('How often since the last such event'),
      work: z
        .array(z.string().max(200))
        .max(STALL_NAMES_MAX)
        .describe('What was under way in the longest time: tasks, projections, processes, requests; most likely first'),
      others: z.int().describe('How many more were under way and are not named'),
    }),
  }),
} as const;
