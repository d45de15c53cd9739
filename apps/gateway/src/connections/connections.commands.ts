import {
  connectionSecretRef,
  CONNECTIONS_STREAM,
  refuse,
  type ConnectionCredentialView,
  type ConnectionChange,
  type ConnectionName,
  type ConnectionRequest,
  type HostKeyAcceptance,
  type NodeName,
  type PowerAction,
  type SecretRef,
  type SshKeyRotationRequest,
} from '@fairlead/contracts';
import { HANDLE, type Decided, type Handle } from '@fairlead/event-sourcing/jetstream';
import { SECRETS, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { causeOf, type Caller } from '../http/caller.js';
import { unwrap, RefusalError } from '../http/refusal.error.js';
import { connections, type ConnectionsState } from './connections.decider.js';
import { ConnectionQueries } from './connections.queries.js';
import { RegistrationChecks } from './registration.checks.js';
import { keyRefsOf } from './registration.rules.js';
import { sshKeys, type SshKeysState } from './ssh-keys.decider.js';

const SHARED = 'shared';

@Injectable()
export class ConnectionCommands {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(RegistrationChecks) private readonly checks: RegistrationChecks,
    @Inject(ConnectionQueries) private readonly queries: ConnectionQueries,
  ) {}

  async register(name: ConnectionName, request: ConnectionRequest, caller: Caller): Promise<Decided<ConnectionsState>> {
    const { token, secret = token, keys = {}, ...settings } = request.settings;
    const { provider, region, zone, moved, namespaces, quota } = request;
    const { users, since } = await this.checks.pass(name, { request, settings, secret, keys });
    // Nothing is sealed for a request that is refused: the secret that there is stays. And sealed before it is stated: whoever reacts to the event finds the secret.
    for (const [key, value] of Object.entries(keys))
      await this.secrets.put(connectionSecretRef(name, key), value, SHARED);
    const sealed = secret === undefined ? undefined : await this.seal(name, secret);
    const data = { name, provider, region, zone, settings, sealed, users, since, moved, namespaces, quota };
    return unwrap(
      await this.handle(connections, CONNECTIONS_STREAM, { type: 'RegisterConnection', data }, causeOf(caller)),
    );
  }

  /** Settings and secret stay, whatever else is registered meanwhile. */
  async change(
    name: ConnectionName,
    { namespaces, quota }: ConnectionChange,
    caller: Caller,
  ): Promise<Decided<ConnectionsState>> {
    const since = await this.checks.namespacesKnown(namespaces);
    const command = { type: 'ChangeConnection', data: { name, namespaces, quota, since } } as const;
    return unwrap(await this.handle(connections, CONNECTIONS_STREAM, command, causeOf(caller)));
  }

  /** What it signs in with, after the reading is on record. */
  async credential(
    name: ConnectionName,
    caller: Caller,
  ): Promise<{ readonly seq: number; readonly credential: ConnectionCredentialView }> {
    const command = { type: 'ReadCredential', data: { name } } as const;
    const { state, seq } = unwrap(await this.handle(connections, CONNECTIONS_STREAM, command, causeOf(caller)));
    const registered = state.get(name);
    if (registered === undefined) throw new RefusalError(refuse('connection.not-found', { connection: name }));
    const { secretRef } = registered;
    const secret = secretRef === null ? undefined : await this.secrets.get(secretRef);
    const keys: Record<string, string> = {};
    for (const ref of keyRefsOf(registered)) {
      const key = await this.secrets.get(ref as SecretRef);
      if (key !== undefined) keys[ref.slice(`${connectionSecretRef(name)}.`.length)] = key;
    }
    if (secret === undefined && Object.keys(keys).length === 0)
      throw new RefusalError(refuse('connection.no-credential', { connection: name }));
    const shown = { kind: 'ConnectionCredential', name, ...(secret === undefined ? {} : { secret }), keys } as const;
    return { seq, credential: shown };
  }

  /** Asks infra-svc for another look, and for another try to clean what could not be cleaned. */
  async verify(name: ConnectionName, caller: Caller): Promise<Decided<ConnectionsState>> {
    const command = { type: 'VerifyConnection', data: { name } } as const;
    return unwrap(await this.handle(connections, CONNECTIONS_STREAM, command, causeOf(caller)));
  }

  async acceptHostKey(
    name: ConnectionName,
    { host, hostKey }: HostKeyAcceptance,
    caller: Caller,
  ): Promise<Decided<ConnectionsState>> {
    const command = { type: 'AcceptHostKey', data: { name, host, hostKey } } as const;
    return unwrap(await this.handle(connections, CONNECTIONS_STREAM, command, causeOf(caller)));
  }

  async acceptHost(name: ConnectionName, host: NodeName, caller: Caller): Promise<Decided<ConnectionsState>> {
    const command = { type: 'AcceptHost', data: { name, host, usedBy: await this.checks.userOf(name, host) } } as const;
    return unwrap(await this.handle(connections, CONNECTIONS_STREAM, command, causeOf(caller)));
  }

  async requestPower(
    name: ConnectionName,
    { host, action }: { readonly host: NodeName; readonly action: PowerAction },
    caller: Caller,
  ): Promise<Decided<ConnectionsState>> {
    const command = { type: 'RequestHostPower', data: { name, host, action } } as const;
    return unwrap(await this.handle(connections, CONNECTIONS_STREAM, command, causeOf(caller)));
  }

  /** Whether it still is one, infra-svc checks again before it deletes anything. */
  async removeOrphan(name: ConnectionName, id: string, caller: Caller): Promise<Decided<ConnectionsState>> {
    const doc = await this.queries.one(name);
    const isOrphan = doc?.orphans?.[id] !== undefined;
    const command = { type: 'RequestOrphanRemoval', data: { name, id, isOrphan } } as const;
    return unwrap(await this.handle(connections, CONNECTIONS_STREAM, command, causeOf(caller)));
  }

  async rotateSshKey(
    name: ConnectionName,
    { force = false }: SshKeyRotationRequest,
    caller: Caller,
  ): Promise<Decided<SshKeysState>> {
    const command = { type: 'RotateSshKey', data: { name, force } } as const;
    return unwrap(await this.handle(sshKeys, CONNECTIONS_STREAM, command, causeOf(caller)));
  }

  async remove(name: ConnectionName, caller: Caller): Promise<Decided<ConnectionsState>> {
    const { usedBy, keyRefs } = await this.checks.standing(name);
    const decided = unwrap(
      await this.handle(
        connections,
        CONNECTIONS_STREAM,
        { type: 'RemoveConnection', data: { name, usedBy } },
        causeOf(caller),
      ),
    );
    for (const ref of [connectionSecretRef(name), ...keyRefs]) await this.secrets.delete(ref as SecretRef);
    return decided;
  }

  private async seal(name: ConnectionName, secret: string): Promise<SecretRef> {
    const ref = connectionSecretRef(name);
    await this.secrets.put(ref, secret, SHARED);
    return ref;
  }
}
