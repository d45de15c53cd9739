import pg from 'pg';

/**
 * A client for pools that always has an error listener. The pool listens while a client is idle, and its user while it
 * works; a dying server can send its last message in between, and an 'error' without a listener ends the process. The
 * next user of the client sees a failing query.
 */
export class SteadyClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }
}
