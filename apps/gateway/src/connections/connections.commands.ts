import {
  CONNECTIONS_STREAM,
  refuse,
  SHARED_WITH_ALL,
  type ConnectionName,
  type ConnectionRequest,
  type SecretRef,
} from '@fairlead/contracts';
import { HANDLE, type Decided, type Handle } from '@fairlead/event-sourcing/jetstream';
import { SECRETS, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { Registry } from '../common/registry.js';
import { causeOf, type Caller } from '../http/caller.js';
import { orRefuse, refuseAny } from '../http/refused.js';
import { connections, type ConnectionsState } from './connections.decider.js';
import { ConnectionQueries } from './connections.queries.js';
import { settingRefusals, suspectSettings } from './connections.rules.js';
import { orphaning } from './registration.rules.js';

const SHARED = 'shared';

const secretRefOf = (name: ConnectionName): SecretRef => `gateway.connection.${name}` as SecretRef;

@Injectable()
export class ConnectionCommands {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(ConnectionQueries) private readonly queries: ConnectionQueries,
    @Inject(Registry) private readonly registry: Registry,
  ) {}

  async register(name: ConnectionName, request: ConnectionRequest, caller: Caller): Promise<Decided<ConnectionsState>> {
    const { token, secret = token, ...settings } = request.settings;
    refuseAny(suspectSettings(settings).map((field) => refuse('connection.secret-in-settings', { field }, field)));
    const { provider, region, zone, moved, namespaces, quota } = request;
    refuseAny(settingRefusals(name, provider, settings));
    const users = await this.queries.users(name);
    const known = await this.registry.latest();
    const before = known.connections.get(name);
    const strangers = (namespaces ?? []).filter((one) => one !== SHARED_WITH_ALL && !known.namespaces.has(one));
    refuseAny(strangers.map((namespace) => refuse('namespace.unknown', { namespace }, 'namespaces')));
    // Nothing is sealed for a request that is refused: the secret that there is stays.
    const refusal = before && orphaning(name, { before, after: { provider, settings }, moved }, users);
    refuseAny(refusal === undefined ? [] : [refusal]);
    // Sealed before it is stated: whoever reacts to the event finds the secret.
    const sealed = secret === undefined ? undefined : await this.seal(name, secret);
    const data = { name, provider, region, zone, settings, sealed, users, moved, namespaces, quota };
    return orRefuse(
      await this.handle(connections, CONNECTIONS_STREAM, { type: 'RegisterConnection', data }, causeOf(caller)),
    );
  }

  /** Asks infra-svc for another look, and for another try to clean what could not be cleaned. */
  async verify(name: ConnectionName, caller: Caller): Promise<Decided<ConnectionsState>> {
    const command = { type: 'VerifyConnection', data: { name } } as const;
    return orRefuse(await this.handle(connections, CONNECTIONS_STREAM, command, causeOf(caller)));
  }

  async remove(name: ConnectionName, caller: Caller): Promise<Decided<ConnectionsState>> {
    const { usedBy } = await this.queries.users(name);
    const decided = orRefuse(
      await this.handle(
        connections,
        CONNECTIONS_STREAM,
        { type: 'RemoveConnection', data: { name, usedBy } },
        causeOf(caller),
      ),
    );
    await this.secrets.delete(secretRefOf(name));
    return decided;
  }

  private async seal(name: ConnectionName, secret: string): Promise<SecretRef> {
    const ref = secretRefOf(name);
    await this.secrets.put(ref, secret, SHARED);
    return ref;
  }
}
