import type { UpgradePlan } from '@fairlead/contracts';
import { createHash } from 'node:crypto';
import { canonical } from './canonical.js';

/** The hash that is approved: SHA-256 (hex) of the plan's canonical text. */
export const planHash = (plan: UpgradePlan): string => createHash('sha256').update(canonical(plan)).digest('hex');
