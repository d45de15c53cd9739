import type { DesiredNetwork } from '@fairlead/contracts';
import { createHash } from 'node:crypto';
import { canonical } from '../plan/canonical.js';

const LENGTH = 16;

/** Equal contents have equal revisions. */
export const revisionOf = (content: DesiredNetwork): string =>
  createHash('sha256').update(canonical(content)).digest('hex').slice(0, LENGTH);
