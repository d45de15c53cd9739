const MEBIBYTE = 1_048_576;

/** Limits of an archive. Larger ones are refused. */
export const UNPACKED_BYTES_MAX = 32 * MEBIBYTE;
export const ENTRIES_MAX = 10_000;
/** Limited because serializers recurse; no real form is nested this deep. */
export const SCHEMA_DEPTH_MAX = 64;

export { safeWords as safe } from '@fairlead/service-kit/http';
