import { REALM_PROBLEMS, type RealmProblem } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { inTime, SECRETS, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../config.js';
import { retryOnConflict } from '../append.conflict.js';
import { Coalesced } from '../resources/coalesced.effects.js';
import { IDENTITY_PROVIDERS, SETTINGS } from '../tokens.js';
import { RealmFailure, type IdentityProviders, type RealmSession } from './realm.ports.js';
import { realms, realmsStream, type RecordLook } from './realms.decider.js';
import type { KnownRealm } from './realms.effects.js';

type Look = { readonly session: RealmSession } | { readonly failure: RealmFailure };

const isProblem = (reason: string): reason is RealmProblem => (REALM_PROBLEMS as readonly string[]).includes(reason);

/** Checks whether realms are ready, and states changes. */
@Injectable()
export class RealmLooks {
  private readonly looks: Coalesced<Look>;

  constructor(
    @Inject(IDENTITY_PROVIDERS) private readonly providers: IdentityProviders,
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'realmFreshForMs' | 'realmTimeoutMs'>,
  ) {
    this.looks = new Coalesced(settings.realmFreshForMs);
  }

  /** Rejects with RealmFailure if the realm is not ready. */
  async open(realm: KnownRealm, cause: Cause): Promise<RealmSession> {
    const look = await this.looks.get(realm.registration, () => this.look(realm, cause));
    if ('failure' in look) throw look.failure;
    return look.session;
  }

  private async look(realm: KnownRealm, cause: Cause): Promise<Look> {
    const look = await this.tried(realm);
    await this.record(realm, 'failure' in look ? look.failure : undefined, cause);
    return look;
  }

  private async tried(realm: KnownRealm): Promise<Look> {
    try {
      return { session: await this.session(realm) };
    } catch (failure) {
      if (failure instanceof RealmFailure) return { failure };
      throw failure;
    }
  }

  private async session({ name, secretRef, ...settings }: KnownRealm): Promise<RealmSession> {
    const provider = this.providers.get(settings.provider);
    if (provider === undefined) throw new Error(`no identity provider is called ${settings.provider}`);
    const clientSecret = await this.secrets.get(secretRef);
    if (clientSecret === undefined)
      throw new RealmFailure(
        'CredentialRefused',
        `the credential of realm ${name} does not exist any more; register the realm again`,
      );
    const access = { ...settings, name, clientSecret };
    const { realmTimeoutMs } = this.settings;
    return inTime(realmTimeoutMs, (late) =>
      provider.open(access, late).catch((error: unknown) => {
        if (!late.aborted || error instanceof RealmFailure) throw error;
        throw new RealmFailure('RealmUnreachable', `realm ${name} has not answered within ${realmTimeoutMs} ms`);
      }),
    );
  }

  private async record(
    { namespace, name: realm, registration }: KnownRealm,
    failure: RealmFailure | undefined,
    cause: Cause,
  ): Promise<void> {
    const { reason, message } = failure ?? {};
    const problem =
      reason !== undefined && message !== undefined && isProblem(reason) ? { reason, message } : undefined;
    const data = { namespace, realm, registration, ...(problem === undefined ? {} : { problem }) };
    const command: RecordLook = { type: 'RecordLook', data };
    retryOnConflict(await this.handle(realms, realmsStream(namespace), command, cause), realm);
  }
}
