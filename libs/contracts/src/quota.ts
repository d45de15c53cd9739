import * as z from 'zod';

const limit = z.int().min(0).max(1_000_000).optional();

/** The most that clusters may take; what is absent is not limited. */
export const Quota = z
  .strictObject({
    clusters: limit.describe('Most clusters'),
    nodes: limit.describe('Most machines, those that are still being made or deleted included'),
    cores: limit.describe('Most CPUs of these machines, by the sizes that their connections offer'),
  })
  .meta({ id: 'Quota', description: 'The most that clusters may take; what is absent is not limited' });
export type Quota = z.infer<typeof Quota>;

export const QUOTA_MEASURES = ['clusters', 'nodes', 'cores'] as const;
export type QuotaMeasure = (typeof QUOTA_MEASURES)[number];
