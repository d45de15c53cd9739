import { bootstrapWindowAt, bootstrapWindowsAt, joinTokenText, type JoinTokenId } from '@fairlead/contracts';
import { createHmac, timingSafeEqual } from 'node:crypto';

/** How long an expired token is still recognised: a host that it admitted may still wait for its credential. */
const WINDOWS_RECOGNISED = 200;

/** The result of verifying a pool token by key and time. */
export type PoolTokenProof = 'valid' | 'expired' | 'forged';

/** The token of a pool in one time window. */
export const poolToken = (key: string, admission: JoinTokenId, window: number): string =>
  joinTokenText(admission, createHmac('sha256', key).update(`${admission}/${window}`).digest());

const isSame = (one: string, other: string): boolean => {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
};

export const proofOf = (
  key: string,
  { admission, text, nowMs }: { readonly admission: JoinTokenId; readonly text: string; readonly nowMs: number },
): PoolTokenProof => {
  const isOf = (window: number): boolean => isSame(poolToken(key, admission, window), text);
  if (bootstrapWindowsAt(nowMs).some(isOf)) return 'valid';
  const latest = bootstrapWindowAt(nowMs);
  return Array.from({ length: WINDOWS_RECOGNISED }, (_, before) => latest - before).some(isOf) ? 'expired' : 'forged';
};
