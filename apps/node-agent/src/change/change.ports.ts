/** What asks an address. Never rejects. */
export type Ask = (url: string, timeoutMs: number) => Promise<Asked>;

/** The status of an answer, whatever it says; or why there was none. */
export type Asked =
  { readonly kind: 'answered'; readonly status: number } | { readonly kind: 'silent'; readonly message: string };

/** The agent is stopped while it waits: nothing has failed, and the next agent continues what waited. */
export class AgentStops extends Error {
  constructor() {
    super('the agent stops');
    this.name = 'AgentStops';
  }
}
