import * as z from 'zod';
import { time } from './time.js';

export const SignInCodeView = z
  .strictObject({
    kind: z.literal('SignInCode'),
    code: z.string().describe('Shown this once: only its hash is kept'),
    expiresAt: time.describe('It opens nothing after that'),
  })
  .meta({ id: 'SignInCode', description: 'A one-time code that signs a browser on this machine in' });
export type SignInCodeView = z.infer<typeof SignInCodeView>;

export const BEARER_KINDS = ['id', 'access'] as const;

export const SignInIssuerView = z
  .strictObject({
    kind: z.literal('SignInIssuer'),
    issuer: z.string().describe('Identifier of the OpenID Connect issuer: its configuration is found below it'),
    clientId: z.string().describe('The public client with which programs sign users in'),
    scopes: z.string().describe('Scopes to ask for, separated by spaces'),
    bearer: z.enum(BEARER_KINDS).describe('Which token of the issuer the API takes as bearer token'),
    page: z.boolean().describe('Whether the page signs users in: GET /sign-in/issuer/begin'),
    ca: z.string().optional().describe("Authority of the issuer's certificate, PEM; absent: a public one"),
  })
  .meta({ id: 'SignInIssuer', description: 'Where users of this installation sign in' });
export type SignInIssuerView = z.infer<typeof SignInIssuerView>;
