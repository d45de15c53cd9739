import { bootstrapWindowAt, bootstrapWindowsAt, joinTokenText, type JoinTokenId } from '@fairlead/contracts';
import { createHmac, timingSafeEqual } from 'node:crypto';

/** How long a token is recognised after it has expired: a host that was admitted by it may still wait for its credential. */
const WINDOWS_RECOGNISED = 200;

/** Whether a token of a pool is one of its own, by its key and the time. */
export type PoolTokenProof = 'valid' | 'expired' | 'forged';

/** The token of a pool in one window of time. */
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
