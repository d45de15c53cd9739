import * as z from 'zod';

const limit = z.int().min(0).max(1_000_000).optional();

/** Limits on what clusters may use; absent fields are unlimited. */
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

const change = limit.nullable();

/** A change of a quota: absent fields are unchanged, null removes a limit. */
export const QuotaChange = z
  .strictObject({
    clusters: change.describe('Most clusters; null: no limit'),
    nodes: change.describe('Most machines; null: no limit'),
    cores: change.describe('Most CPUs of these machines; null: no limit'),
  })
  .meta({ id: 'QuotaChange', description: 'A change of a quota: what is absent stays, and null removes a limit' });
export type QuotaChange = z.infer<typeof QuotaChange>;

/** The quota after a change. */
export const withQuotaChange = (quota: Quota, asked: QuotaChange): Quota => {
  const limits = QUOTA_MEASURES.flatMap((measure) => {
    const limit = asked[measure] === undefined ? quota[measure] : asked[measure];
    return typeof limit === 'number' ? [[measure, limit] as const] : [];
  });
  return Object.fromEntries(limits);
};
