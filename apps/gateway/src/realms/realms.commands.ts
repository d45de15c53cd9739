import {
  isRefusal,
  keycloakUrlsOf,
  namespaceStream,
  PLATFORM_USERS,
  REALM_SECRETS_OWNER,
  realmSecretRef,
  refuse,
  type RealmCredentialView,
  type RealmPath,
  type RealmRequest,
} from '@fairlead/contracts';
import { HANDLE, type Decided, type Handle } from '@fairlead/event-sourcing/jetstream';
import { SECRETS, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { certificateFault } from '@fairlead/parsers/certificates';
import { Registry } from '../common/registry.js';
import { causeOf, type Caller } from '../http/caller.js';
import { unwrap, RefusalError } from '../http/refusal.error.js';
import { realms, type RealmsState } from './realms.decider.js';
import { RealmQueries } from './realms.queries.js';

@Injectable()
export class RealmCommands {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(Registry) private readonly registry: Registry,
    @Inject(RealmQueries) private readonly queries: RealmQueries,
  ) {}

  async register(
    { namespace, realm }: RealmPath,
    { clientSecret, ...requested }: RealmRequest,
    caller: Caller,
  ): Promise<Decided<RealmsState>> {
    const { issuerUrl, ca, create } = requested;
    const urls = keycloakUrlsOf(issuerUrl);
    if (urls === undefined) throw new RefusalError(refuse('realm.issuer-invalid', { issuerUrl }, 'issuerUrl'));
    if (create === true && urls.creatable === undefined)
      throw new RefusalError(refuse('realm.not-creatable', { issuerUrl }, 'issuerUrl'));
    const settings = create === true ? { usersGroup: PLATFORM_USERS, ...requested } : requested;
    const reason = ca === undefined ? undefined : certificateFault(ca);
    if (reason !== undefined) throw new RefusalError(refuse('realm.ca-invalid', { reason }, 'ca'));
    const secretRef = realmSecretRef(namespace, realm);
    const usedBy = await this.queries.users(namespace, realm);
    const sealed = clientSecret !== undefined;
    const data = { namespace, realm, usedBy, settings, secretRef, sealed };
    const command = { type: 'RegisterRealm', data } as const;
    // Nothing is sealed for a request that is refused. And sealed before it is stated: infra-svc looks at the realm at once.
    const known = (await this.registry.latest()).namespaces.get(namespace)?.realms;
    const refused = realms.decide(known, command);
    if (isRefusal(refused)) throw new RefusalError(refused);
    if (sealed) await this.secrets.put(secretRef, clientSecret, REALM_SECRETS_OWNER);
    return unwrap(await this.handle(realms, namespaceStream(namespace), command, causeOf(caller)));
  }

  /** The client that administers it, after the reading is on record. */
  async credential(
    { namespace, realm }: RealmPath,
    caller: Caller,
  ): Promise<{ readonly seq: number; readonly credential: RealmCredentialView }> {
    const command = { type: 'ReadCredential', data: { namespace, realm } } as const;
    const { state, seq } = unwrap(await this.handle(realms, namespaceStream(namespace), command, causeOf(caller)));
    const registered = state?.get(realm);
    const clientSecret = registered && (await this.secrets.get(registered.secretRef));
    if (registered === undefined || clientSecret === undefined)
      throw new RefusalError(refuse('realm.not-found', { namespace, realm }));
    const { clientId } = registered;
    return { seq, credential: { kind: 'RealmCredential', namespace, name: realm, clientId, clientSecret } };
  }

  async remove({ namespace, realm }: RealmPath, force: boolean, caller: Caller): Promise<Decided<RealmsState>> {
    const usedBy = await this.queries.users(namespace, realm);
    const command = { type: 'RemoveRealm', data: { namespace, realm, usedBy, force } } as const;
    const decided = unwrap(await this.handle(realms, namespaceStream(namespace), command, causeOf(caller)));
    await this.secrets.delete(realmSecretRef(namespace, realm));
    return decided;
  }

  async namesIn(namespace: string): Promise<readonly string[]> {
    return [...((await this.registry.latest()).namespaces.get(namespace)?.realms.keys() ?? [])];
  }

  /** A namespace that is deleted has no realms: they are not those of another namespace of its name. */
  async forget(namespace: string, names: readonly string[]): Promise<void> {
    for (const name of names) await this.secrets.delete(realmSecretRef(namespace, name));
  }
}
