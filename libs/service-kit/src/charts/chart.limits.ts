const MEBIBYTE = 1_048_576;

/** Limits on reads from a repository. Larger responses are rejected. */
export const INDEX_BYTES_MAX = 16 * MEBIBYTE;
/** A Helm index has about 80,000 values per MiB. */
export const INDEX_VALUES_MAX = 4_000_000;
/** An index of 16 MiB takes 2 s and 200 MiB. */
export const INDEX_WORKER = { deadlineMs: 30_000, memoryMb: 384 } as const;
/** Maximum length of the versions of one chart, as JSON. */
export const INDEXED_LENGTH_MAX = 2 * MEBIBYTE;
export const ARCHIVE_BYTES_MAX = 8 * MEBIBYTE;
/** Maximum versions per chart. */
export const INDEXED_MAX = 10_000;
/** Maximum size of a registry's tag lists, manifests and tokens. */
export const REGISTRY_ANSWER_BYTES_MAX = MEBIBYTE;
export const TAG_PAGES_MAX = 20;
