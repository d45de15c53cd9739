/** The user who sends a request. */
export interface Identity {
  readonly name: string;
  readonly groups: readonly string[];
}
