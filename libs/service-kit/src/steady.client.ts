import pg from 'pg';

/**
 * A client for pools, for whose end someone always listens. A pool listens while a client is idle and its user while it works; a server
 * that dies can send its last message between the two, and an 'error' without a listener ends the process. Whoever uses the client next
 * learns of it by a query that fails.
 */
export class SteadyClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }
}
