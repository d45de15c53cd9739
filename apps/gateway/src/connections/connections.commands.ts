import {
  connectionSecretRef,
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
import { foreignKeys, keyRefsOf, orphaning, secretMissing } from './registration.rules.js';

const SHARED = 'shared';

@Injectable()
export class ConnectionCommands {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(ConnectionQueries) private readonly queries: ConnectionQueries,
    @Inject(Registry) private readonly registry: Registry,
  ) {}

  async register(name: ConnectionName, request: ConnectionRequest, caller: Caller): Promise<Decided<ConnectionsState>> {
    const { token, secret = token, keys = {}, ...settings } = request.settings;
    refuseAny(suspectSettings(settings).map((field) => refuse('connection.secret-in-settings', { field }, field)));
    const { provider, region, zone, moved, namespaces, quota } = request;
    refuseAny(settingRefusals(name, provider, settings));
    refuseAny(foreignKeys(name, { provider, settings }));
    const users = await this.queries.users(name);
    const known = await this.registry.latest();
    const before = known.connections.get(name);
    const strangers = (namespaces ?? []).filter((one) => one !== SHARED_WITH_ALL && !known.namespaces.has(one));
    refuseAny(strangers.map((namespace) => refuse('namespace.unknown', { namespace }, 'namespaces')));
    // Nothing is sealed for a request that is refused: the secret that there is stays.
    const after = { provider, settings };
    const given = {
      secret: secret !== undefined,
      keys: new Set<string>(Object.keys(keys).map((key) => connectionSecretRef(name, key))),
    };
    const refusal =
      before && (orphaning(name, { before, after, moved }, users) ?? secretMissing(name, { before, after }, given));
    refuseAny(refusal === undefined ? [] : [refusal]);
    // Sealed before it is stated: whoever reacts to the event finds the secret.
    for (const [key, value] of Object.entries(keys))
      await this.secrets.put(connectionSecretRef(name, key), value, SHARED);
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
    const before = (await this.registry.latest()).connections.get(name);
    const decided = orRefuse(
      await this.handle(
        connections,
        CONNECTIONS_STREAM,
        { type: 'RemoveConnection', data: { name, usedBy } },
        causeOf(caller),
      ),
    );
    const keys = before === undefined ? [] : keyRefsOf(before);
    for (const ref of [connectionSecretRef(name), ...keys]) await this.secrets.delete(ref as SecretRef);
    return decided;
  }

  private async seal(name: ConnectionName, secret: string): Promise<SecretRef> {
    const ref = connectionSecretRef(name);
    await this.secrets.put(ref, secret, SHARED);
    return ref;
  }
}
