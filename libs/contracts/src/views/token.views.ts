import * as z from 'zod';
import { paged } from './list.views.js';
import { RoleGrant } from '../requests.js';
import { time } from './time.js';

export const TokenView = z
  .strictObject({
    id: z.string(),
    kind: z.literal('Token'),
    name: z.string(),
    roles: z.array(RoleGrant),
    createdTime: time,
    expiresAt: time.optional().describe('When it ends, or ended; RFC 3339, UTC. Absent: it does not end by itself'),
  })
  .meta({ id: 'Token', description: 'An API token, without what makes it one' });
export type TokenView = z.infer<typeof TokenView>;

export const TokenList = z
  .strictObject({ kind: z.literal('TokenList'), items: z.array(TokenView), ...paged })
  .meta({ id: 'TokenList' });
export type TokenList = z.infer<typeof TokenList>;

export const CreatedTokenView = z
  .strictObject({ ...TokenView.shape, token: z.string().describe('Shown this once: only its hash is kept') })
  .meta({ id: 'CreatedToken' });
export type CreatedTokenView = z.infer<typeof CreatedTokenView>;
