/** Sends a request to a URL. Never rejects. */
export type Ask = (url: string, timeoutMs: number) => Promise<HealthAnswer>;

/** The status of a response, whatever it is, or why there was none. */
export type HealthAnswer =
  { readonly kind: 'answered'; readonly status: number } | { readonly kind: 'silent'; readonly message: string };

/** The agent is stopped while it waits. This is not a failure, and the next agent continues. */
export class AgentStops extends Error {
  constructor() {
    super('the agent stops');
    this.name = 'AgentStops';
  }
}
