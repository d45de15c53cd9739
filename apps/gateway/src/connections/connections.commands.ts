import {
  CONNECTIONS_STREAM,
  refuse,
  type ConnectionName,
  type ConnectionRequest,
  type SecretRef,
} from '@fairlead/contracts';
import { HANDLE, type Decided, type Handle } from '@fairlead/event-sourcing/jetstream';
import { SECRETS, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { ClusterQueries } from '../clusters/clusters.queries.js';
import { causeOf, type Caller } from '../http/caller.js';
import { orRefuse, refuseAny } from '../http/refused.js';
import { connections, type ConnectionsState } from './connections.decider.js';
import { settingRefusals, suspectSettings } from './connections.rules.js';

const SHARED = 'shared';

const secretRefOf = (name: ConnectionName): SecretRef => `gateway.connection.${name}` as SecretRef;

@Injectable()
export class ConnectionCommands {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(ClusterQueries) private readonly clusters: ClusterQueries,
  ) {}

  async register(name: ConnectionName, request: ConnectionRequest, caller: Caller): Promise<Decided<ConnectionsState>> {
    const { token, secret = token, ...settings } = request.settings;
    refuseAny(suspectSettings(settings).map((field) => refuse('connection.secret-in-settings', { field }, field)));
    const { provider, region, zone } = request;
    refuseAny(settingRefusals(name, provider, settings));
    // Sealed before it is stated: whoever reacts to the event finds the secret.
    const sealed = secret === undefined ? undefined : await this.seal(name, secret);
    return orRefuse(
      await this.handle(
        connections,
        CONNECTIONS_STREAM,
        { type: 'RegisterConnection', data: { name, provider, region, zone, settings, sealed } },
        causeOf(caller),
      ),
    );
  }

  /** Asks infra-svc for another look, and for another try to clean what could not be cleaned. */
  async verify(name: ConnectionName, caller: Caller): Promise<Decided<ConnectionsState>> {
    const command = { type: 'VerifyConnection', data: { name } } as const;
    return orRefuse(await this.handle(connections, CONNECTIONS_STREAM, command, causeOf(caller)));
  }

  async remove(name: ConnectionName, caller: Caller): Promise<Decided<ConnectionsState>> {
    const usedBy = await this.clusters.usersOf(name);
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
