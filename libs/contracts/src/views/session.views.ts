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
