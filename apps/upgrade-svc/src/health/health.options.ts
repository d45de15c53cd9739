import { NODE_LOST_AFTER_MS } from '@fairlead/contracts';
import { parseEnvironment } from '@fairlead/service-kit';
import { z } from 'zod';

export const HEALTH_OPTIONS = Symbol('upgrade-svc.health-options');

export interface HealthOptions {
  /** A node that is silent for longer is lost. */
  readonly limitMs: number;
  readonly sweepIntervalMs: number;
}

const Environment = z.object({
  NODE_LOST_AFTER_MS: z.coerce
    .number()
    .int()
    .min(500)
    .default(NODE_LOST_AFTER_MS)
    .describe('Silence that makes a node lost'),
});

const SWEEPS_PER_LIMIT = 40;
const SWEEP_INTERVAL_MAX_MS = 1_000;

/** This service's own environment variables. */
export const readHealthOptions = (env: Readonly<Record<string, string | undefined>>): HealthOptions => {
  const limitMs = parseEnvironment(Environment, env).NODE_LOST_AFTER_MS;
  return { limitMs, sweepIntervalMs: Math.min(SWEEP_INTERVAL_MAX_MS, limitMs / SWEEPS_PER_LIMIT) };
};
