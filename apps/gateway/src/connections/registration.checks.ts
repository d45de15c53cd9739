import {
  connectionSecretRef,
  inventoryOf,
  refuse,
  SHARED_WITH_ALL,
  type ConnectionName,
  type ConnectionRequest,
  type Refusal,
} from '@fairlead/contracts';
import type { Registered } from '@fairlead/domain';
import { Inject, Injectable } from '@nestjs/common';
import { networkInterfaces } from 'node:os';
import { Registry } from '../common/registry.js';
import { SETTINGS, type Settings } from '../config.js';
import { throwIfRefused } from '../http/refusal.error.js';
import type { NamespacesSince } from './connections.decider.js';
import { ConnectionQueries } from './connections.queries.js';
import { settingRefusals, suspectSettings } from './connections.rules.js';
import { inventoryFaults } from './inventory.rules.js';
import { unreachableNats, type Reach } from './nats.reach.js';
import { foreignKeys, keyRefsOf, orphaning, secretMissing, type Users } from './registration.rules.js';

type RequestedSettings = ConnectionRequest['settings'];

/** What a request to register a connection says of it, its secrets apart. */
export interface RegistrationRequest {
  readonly request: ConnectionRequest;
  readonly settings: Omit<RequestedSettings, 'token' | 'secret' | 'keys'>;
  readonly secret: string | undefined;
  readonly keys: Readonly<Record<string, string>>;
}

/** What a registration that passed is decided with. */
export interface RegistrationBasis {
  readonly users: Users;
  readonly since: NamespacesSince;
}

const sinceOf = ({ namespaces }: Registered): NamespacesSince =>
  new Map([...namespaces].map(([name, { since }]) => [name, since]));

/** Looks at a connection before anything of it is sealed or stated. */
@Injectable()
export class RegistrationChecks {
  constructor(
    @Inject(ConnectionQueries) private readonly queries: ConnectionQueries,
    @Inject(Registry) private readonly registry: Registry,
    @Inject(SETTINGS) private readonly config: Settings,
  ) {}

  /** Throws Refused with everything that is wrong with the request. */
  async pass(name: ConnectionName, registration: RegistrationRequest): Promise<RegistrationBasis> {
    const { request, settings } = registration;
    const { provider } = request;
    throwIfRefused(suspectSettings(settings).map((field) => refuse('connection.secret-in-settings', { field }, field)));
    throwIfRefused(settingRefusals(name, provider, settings));
    throwIfRefused(foreignKeys(name, { provider, settings }));
    const inventory = inventoryOf({ provider, settings });
    if (inventory !== undefined) {
      const reach = this.reach();
      throwIfRefused([...unreachableNats(name, inventory, reach), ...inventoryFaults(name, inventory, reach)]);
    }
    const users = await this.queries.users(name);
    const known = await this.registry.latest();
    throwIfRefused(besideKnown(known, { name, users, registration }));
    return { users, since: sinceOf(known) };
  }

  /** The namespaces that there are; throws Refused with those of the request that there are not. */
  async namespacesKnown(namespaces: readonly string[] | undefined): Promise<NamespacesSince> {
    const known = await this.registry.latest();
    throwIfRefused(strangers(known, namespaces));
    return sinceOf(known);
  }

  /** The clusters that stand on the connection, and the secrets that go with it. */
  async standing(
    name: ConnectionName,
  ): Promise<{ readonly usedBy: readonly string[]; readonly keyRefs: readonly string[] }> {
    const { usedBy } = await this.queries.users(name);
    const known = (await this.registry.latest()).connections.get(name);
    return { usedBy, keyRefs: known === undefined ? [] : keyRefsOf(known) };
  }

  /** The cluster that has a host of the inventory now. */
  async userOf(name: ConnectionName, host: string): Promise<string | undefined> {
    const entry = (await this.queries.one(name))?.stock[host];
    return entry?.kept === null ? entry.cluster : undefined;
  }

  private reach(): Reach {
    const interfaces = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
    return {
      agentNatsUrls: this.config.agentNatsUrls,
      ownAddresses: interfaces.map(({ address }) => address),
    };
  }
}

const strangers = (known: Registered, namespaces: readonly string[] = []): readonly Refusal[] =>
  namespaces
    .filter((one) => one !== SHARED_WITH_ALL && !known.namespaces.has(one))
    .map((namespace) => refuse('namespace.unknown', { namespace }, 'namespaces'));

const besideKnown = (
  known: Registered,
  asked: { readonly name: ConnectionName; readonly users: Users; readonly registration: RegistrationRequest },
): readonly Refusal[] => {
  const { name, users } = asked;
  const { request, settings, secret, keys } = asked.registration;
  const { provider, moved, namespaces } = request;
  const unknown = strangers(known, namespaces);
  if (unknown.length > 0) return unknown;
  const before = known.connections.get(name);
  if (before === undefined) return [];
  const after = { provider, settings };
  const given = {
    secret: secret !== undefined,
    keys: new Set<string>(Object.keys(keys).map((key) => connectionSecretRef(name, key))),
  };
  const refusal = orphaning(name, { before, after, moved }, users) ?? secretMissing(name, { before, after }, given);
  return refusal === undefined ? [] : [refusal];
};
