import * as z from 'zod';
import { HANDOVER_STATES } from '../handover.js';
import { time } from './time.js';

export const HandoverView = z
  .strictObject({
    kind: z.literal('Handover'),
    holdsLog: z.boolean().describe('Whether this installation acts on clusters and takes commands'),
    epoch: z.int().describe('1 for the first installation, and one more with each that takes over'),
    state: z
      .enum(['none', ...HANDOVER_STATES])
      .describe(
        'none: never handed over. active: it has taken another one over. fenced, released: it is, or was, handed over',
      ),
    id: z.string().nullable().describe('The handover'),
    startedTime: time.nullable(),
    message: z.string(),
  })
  .meta({ id: 'Handover', description: 'Whether this installation was handed over to another one, or took one over' });
export type HandoverView = z.infer<typeof HandoverView>;
