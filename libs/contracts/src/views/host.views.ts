import * as z from 'zod';
import { Labels } from '../labels.js';
import { HostFacts, HostId } from '../joins/join.tokens.js';
import { paged } from './list.views.js';

export const RegisteredHostView = z
  .strictObject({
    name: HostId,
    labels: Labels,
    facts: HostFacts.describe('As the host states them'),
    registeredTime: z.iso.datetime(),
  })
  .meta({ id: 'RegisteredHost', description: 'A host that waits until a pool claims it' });
export type RegisteredHostView = z.infer<typeof RegisteredHostView>;

export const RegisteredHostList = z
  .strictObject({ kind: z.literal('RegisteredHostList'), items: z.array(RegisteredHostView), ...paged })
  .meta({ id: 'RegisteredHostList' });
export type RegisteredHostList = z.infer<typeof RegisteredHostList>;
