import * as z from 'zod';
import { time } from './time.js';

/** The state of a virtual address, as last reported by the node that holds it. */
export const VirtualAddressView = z
  .strictObject({
    name: z.string(),
    address: z.string(),
    holder: z.string().nullable().describe('The node that has the address; null: none says so'),
    since: time.nullable().describe('When the holder last reported a change; null: there is none'),
    transports: z.array(
      z.strictObject({
        name: z.string(),
        frontendPort: z.int(),
        reached: z.boolean().describe('The holder gets a connection on the port of the address'),
        up: z.int().describe('How many of the nodes behind it answer their health check'),
        of: z.int(),
        down: z.array(z.string()).describe('Those that do not, 20 at most'),
      }),
    ),
  })
  .meta({ id: 'VirtualAddressStatus', description: 'How a virtual address is' });
export type VirtualAddressView = z.infer<typeof VirtualAddressView>;
