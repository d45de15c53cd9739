import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { IdentityServer, type RealmAccess } from '../identity/identity.server.js';
import { TOKEN_SECONDS } from '../identity/realm.routes.js';
import { DocumentStore } from '../persistence/document.store.js';

/** A separate simulated identity provider for specs. */
export interface TestIdentity extends RealmAccess {
  readonly clientSecret: string;
  /** How long tokens are good for that are made from now on. */
  tokenSeconds: number;
  stop(): Promise<void>;
}

const WRITE_DELAY_MS = 1_000;

export const startTestIdentity = async (): Promise<TestIdentity> => {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-identity-'));
  const fail = (error: unknown): never => {
    throw error;
  };
  const clientSecret = 'secret-of-a-test-realm';
  const server = await IdentityServer.start({
    store: new DocumentStore(folder, WRITE_DELAY_MS, fail),
    administrator: { clientId: 'fairlead', clientSecret },
    port: 0,
    now: () => new Date(),
    tokenSeconds: () => identity.tokenSeconds,
    onBug: fail,
  });
  const identity: TestIdentity = {
    ...server.access,
    clientSecret,
    tokenSeconds: TOKEN_SECONDS,
    stop: async () => {
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return identity;
};
