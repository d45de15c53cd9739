import * as z from 'zod';

/** How many changed fields of a manifest its event lists, and how long each value may be. */
export const MANIFEST_CHANGES_MAX = 5;
export const MANIFEST_VALUE_LENGTH_MAX = 80;
const MANIFEST_FIELD_LENGTH_MAX = 300;

const value = z.string().max(MANIFEST_VALUE_LENGTH_MAX).nullable();
export const ManifestChange = z.strictObject({
  field: z.string().max(MANIFEST_FIELD_LENGTH_MAX),
  before: value,
  after: value,
});
export type ManifestChange = z.infer<typeof ManifestChange>;
