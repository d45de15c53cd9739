import { addonSecretOf, addonSecretRef } from '@fairlead/contracts';
import type { SecretStore } from '@fairlead/service-kit';
import type { SealedSecret, SealedValues } from './releases.ports.js';

/** Opens the values of add-ons that the gateway sealed. */
export class OpenedValues implements SealedValues {
  constructor(private readonly secrets: Pick<SecretStore, 'get'>) {}

  async get(namespace: string, name: string): Promise<SealedSecret | undefined> {
    const text = await this.secrets.get(addonSecretRef(namespace, name));
    return text === undefined ? undefined : addonSecretOf(text);
  }
}
