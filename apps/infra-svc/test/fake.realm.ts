import { serviceClientOf, type RealmProblem } from '@fairlead/contracts';
import {
  RealmFailure,
  type DesiredIdentity,
  type IdentityProvider,
  type IdentityProviders,
} from '../src/realms/realm.ports.js';

type RealmOperation = 'open' | 'ensureGroup' | 'ensureClient' | 'ensureServices' | 'deleteClient' | 'deleteGroup';

/** Called around every call to a realm. */
export interface RealmHooks {
  before(operation: RealmOperation): Promise<void>;
  after(operation: RealmOperation): Promise<void>;
}

/** The state of an identity provider: the owner of each resource, by name. */
export class FakeRealm {
  readonly clients = new Map<string, string>();
  readonly groups = new Map<string, string>();
  readonly claims = new Map<string, string>();
  /** Every client that was ever created. */
  readonly made: string[] = [];
  looks = 0;
  /** Set to make it not ready. */
  problem: RealmProblem | undefined;

  /** The provider, as used by a replica. */
  provider(hooks: RealmHooks = { before: async () => undefined, after: async () => undefined }): IdentityProviders {
    const around =
      (operation: RealmOperation, work: (desired: DesiredIdentity) => void) =>
      async (desired: DesiredIdentity): Promise<void> => {
        await hooks.before(operation);
        this.failIfNotReady('the realm');
        work(desired);
        await hooks.after(operation);
      };
    const session = {
      ensureGroup: around('ensureGroup', ({ group, uid }) => this.ensure('GroupTaken', this.groups, group, uid)),
      ensureClient: around('ensureClient', ({ clientId, uid, groupsClaim }) => {
        if (!this.clients.has(clientId)) this.made.push(clientId);
        this.ensure('ClientTaken', this.clients, clientId, uid);
        this.claims.set(clientId, groupsClaim);
      }),
      ensureServices: around('ensureServices', (desired) => this.ensureServices(desired)),
      deleteClient: around('deleteClient', (desired) => {
        this.ensureServices({ ...desired, services: [] });
        this.delete(this.clients, desired.clientId, desired.uid);
      }),
      deleteGroup: around('deleteGroup', ({ group, uid }) => this.delete(this.groups, group, uid)),
    };
    const provider: IdentityProvider = {
      name: 'keycloak',
      open: async ({ name }) => {
        this.looks += 1;
        await hooks.before('open');
        this.failIfNotReady(name);
        await hooks.after('open');
        return session;
      },
    };
    return new Map([[provider.name, provider]]);
  }

  private ensureServices({ clientId, group, uid, services }: DesiredIdentity): void {
    const clients = services.map(({ name }) => serviceClientOf({ clientId }, name));
    const groups = services.map(({ name }) => `${group}/${name}`);
    for (const name of groups) this.ensure('GroupTaken', this.groups, name, uid);
    for (const name of clients) this.ensure('ClientTaken', this.clients, name, uid);
    const isObsolete = (name: string, prefix: string, kept: readonly string[]): boolean =>
      name.startsWith(prefix) && !kept.includes(name);
    for (const name of this.clients.keys())
      if (isObsolete(name, `${clientId}.`, clients)) this.delete(this.clients, name, uid);
    for (const name of this.groups.keys())
      if (isObsolete(name, `${group}/`, groups)) this.delete(this.groups, name, uid);
  }

  private failIfNotReady(name: string): void {
    if (this.problem !== undefined) throw new RealmFailure(this.problem, `realm ${name}: ${this.problem}`);
  }

  private ensure(reason: 'ClientTaken' | 'GroupTaken', items: Map<string, string>, name: string, uid: string): void {
    const owner = items.get(name);
    if (owner !== undefined && owner !== uid) throw new RealmFailure(reason, `${name} is of another cluster`);
    items.set(name, uid);
  }

  private delete(items: Map<string, string>, name: string, uid: string): void {
    if (items.get(name) === uid) items.delete(name);
  }
}
