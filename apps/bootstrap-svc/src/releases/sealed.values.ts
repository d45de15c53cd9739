import { addonSecretOf, addonSecretRef } from '@fairlead/contracts';
import type { SecretStore } from '@fairlead/service-kit';
import type { SealedSecret, SealedValues } from './releases.ports.js';

/** Values of add-ons as the gateway has sealed them. */
export class OpenedValues implements SealedValues {
  constructor(private readonly secrets: Pick<SecretStore, 'get'>) {}

  async get(namespace: string, name: string): Promise<SealedSecret | undefined> {
    const text = await this.secrets.get(addonSecretRef(namespace, name));
    return text === undefined ? undefined : addonSecretOf(text);
  }
}
