/** Maximum length of free text in a request. */
export const TEXT_LENGTH_MAX = 1_000;

/** RFC 3339 with nanoseconds and an offset. */
export const TIME_LENGTH_MAX = 35;
