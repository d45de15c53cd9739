import * as z from 'zod';
import { RoleGrant } from '../requests.js';
import { time } from './time.js';

export const WhoamiView = z
  .strictObject({
    kind: z.literal('Whoami'),
    name: z.string().describe('Name of the token, or of the user of the identity provider'),
    tokenId: z.string().describe('Id of the token, or of the user: oidc and 24 hexadecimal digits'),
    actor: z.string().describe('As events name it'),
    roles: z.array(RoleGrant).describe('In namespaces that exist; "*" is every namespace'),
    signedIn: z.literal(true).optional().describe('A user of the identity provider; absent: an API token'),
    expiresAt: time.optional().describe('When the token ends; RFC 3339, UTC. Absent: it does not end by itself'),
  })
  .meta({ id: 'Whoami', description: 'Who sends the request, by its token' });
export type WhoamiView = z.infer<typeof WhoamiView>;
