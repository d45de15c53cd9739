const MEBIBYTE = 1_048_576;

/** What is read of a repository. Whatever is larger is refused. */
export const INDEX_BYTES_MAX = 16 * MEBIBYTE;
/** An index of Helm has about 80,000 in each MiB. */
export const INDEX_VALUES_MAX = 4_000_000;
/** An index of 16 MiB takes 2 s and 200 MiB. */
export const INDEX_WORKER = { deadlineMs: 30_000, memoryMb: 384 } as const;
/** What is used of the versions of one chart, as JSON. */
export const INDEXED_LENGTH_MAX = 2 * MEBIBYTE;
export const ARCHIVE_BYTES_MAX = 8 * MEBIBYTE;
/** Versions of one chart. */
export const INDEXED_MAX = 10_000;
/** Of a registry: lists of tags, manifests and tokens. */
export const REGISTRY_ANSWER_BYTES_MAX = MEBIBYTE;
export const TAG_PAGES_MAX = 20;
