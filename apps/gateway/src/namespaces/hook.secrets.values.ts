import { HOOK_SECRETS_OWNER, hookSecretRef } from '@fairlead/contracts';
import { SECRETS, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { NamespaceQueries } from './namespaces.queries.js';

/** The sealed values of hook secrets. Services that ask hooks read them by name. */
@Injectable()
export class HookSecretValues {
  constructor(
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(NamespaceQueries) private readonly queries: NamespaceQueries,
  ) {}

  async namesIn(namespace: string): Promise<readonly string[]> {
    return Object.keys((await this.queries.one(namespace))?.hookSecrets ?? {});
  }

  seal(namespace: string, name: string, value: string): Promise<void> {
    return this.secrets.put(hookSecretRef(namespace, name), value, HOOK_SECRETS_OWNER);
  }

  delete(namespace: string, name: string): Promise<void> {
    return this.secrets.delete(hookSecretRef(namespace, name));
  }
}
