/** One entry of the refusal catalogue. A code never changes its meaning. */
export interface RefusalDefinition {
  /** HTTP status of the REST API. */
  readonly status: 400 | 401 | 403 | 404 | 405 | 409 | 410 | 413 | 415 | 422 | 429 | 431 | 500 | 503 | 507;
  /** What is wrong, with {placeholders}. */
  readonly sentence: string;
  /** What the caller can do. */
  readonly help: string;
}

export const definition = (status: RefusalDefinition['status'], sentence: string, help: string): RefusalDefinition => ({
  status,
  sentence,
  help,
});
