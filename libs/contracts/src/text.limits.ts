/** Longest free text that a request may carry. */
export const TEXT_LENGTH_MAX = 1_000;
