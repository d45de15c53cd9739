const MEBIBYTE = 1_048_576;

/** What is read of a repository. Whatever is larger is refused. */
export const INDEX_BYTES_MAX = 16 * MEBIBYTE;
/** What is parsed at once: YAML takes about 0.35 s per MiB, and nothing else runs meanwhile. */
export const PARSED_LENGTH_MAX = MEBIBYTE;
/** Length of one version in an index. Other work runs after each so many characters. */
export const ITEM_LENGTH_MAX = MEBIBYTE / 8;
export const ARCHIVE_BYTES_MAX = 8 * MEBIBYTE;
export const UNPACKED_BYTES_MAX = 32 * MEBIBYTE;
export const ENTRIES_MAX = 10_000;
/** Versions of one chart. */
export const INDEXED_MAX = 10_000;
/** Serializers recurse, and no form is nested this deep. */
export const SCHEMA_DEPTH_MAX = 64;

const WORDS_LENGTH_MAX = 300;

/** What a repository, or a parser of what it sent, writes may be anything. */
export const safe = (words: string): string =>
  words.replaceAll(/[\p{Cc}\p{Cf}\p{Cs}]+/gu, ' ').slice(0, WORDS_LENGTH_MAX);
