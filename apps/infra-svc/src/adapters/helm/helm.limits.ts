const MEBIBYTE = 1_048_576;

/** What is read of an archive. Whatever is larger is refused. */
export const UNPACKED_BYTES_MAX = 32 * MEBIBYTE;
export const ENTRIES_MAX = 10_000;
/** Serializers recurse, and no form is nested this deep. */
export const SCHEMA_DEPTH_MAX = 64;

export { safeWords as safe } from '@fairlead/service-kit/http';
