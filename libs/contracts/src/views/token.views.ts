import { z } from 'zod';
import { RoleGrant } from '../requests.js';
import { time } from './time.js';

export const TokenView = z
  .strictObject({
    id: z.string(),
    kind: z.literal('Token'),
    name: z.string(),
    roles: z.array(RoleGrant),
    createdTime: time,
  })
  .meta({ id: 'Token', description: 'An API token, without what makes it one' });
export type TokenView = z.infer<typeof TokenView>;

export const TokenList = z
  .strictObject({ kind: z.literal('TokenList'), items: z.array(TokenView) })
  .meta({ id: 'TokenList' });
export type TokenList = z.infer<typeof TokenList>;

export const CreatedTokenView = z
  .strictObject({ ...TokenView.shape, token: z.string().describe('Shown this once: only its hash is kept') })
  .meta({ id: 'CreatedToken' });
export type CreatedTokenView = z.infer<typeof CreatedTokenView>;
