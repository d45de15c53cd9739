import { createHmac } from 'node:crypto';

export const SIGNATURE_HEADER = 'fairlead-signature';
const MS_PER_SECOND = 1_000;

/** The time and HMAC-SHA256 of the time and the body, by which a receiver that has the secret knows a forged or an old request. */
export const signatureOf = (secret: string, body: string, at: Date): string => {
  const time = Math.floor(at.getTime() / MS_PER_SECOND);
  return `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`;
};
