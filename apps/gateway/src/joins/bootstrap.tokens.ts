import {
  bootstrapWindowAt,
  bootstrapWindowsAt,
  joinTokenText,
  type HostId,
  type JoinTokenId,
  type SecretRef,
} from '@fairlead/contracts';
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { PoolTokenProof } from './joins.decider.js';

/** How long a token is recognised after it has expired: a host that was admitted by it may still wait for its credential. */
const WINDOWS_RECOGNISED = 200;
const ID_LENGTH = 12;

/** Where the key of the tokens with this id is sealed. */
export const bootstrapKeyRef = (admission: JoinTokenId): SecretRef => `gateway.bootstrap.${admission}` as SecretRef;

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

/** The same whenever this host asks again. */
export const hostIdOfKey = (admission: JoinTokenId, user: string): HostId =>
  `host-${createHash('sha256').update(`${admission}/${user}`).digest('hex').slice(0, ID_LENGTH)}`;
