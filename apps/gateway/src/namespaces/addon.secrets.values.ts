import {
  ADDON_SECRETS_OWNER,
  addonSecretOf,
  addonSecretRef,
  addonSecretText,
  type AddonSecretValues,
  type SealedAddonSecret,
} from '@fairlead/contracts';
import { SECRETS, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { Registry } from '../common/registry.js';

/** The sealed values of add-ons. bootstrap-svc reads them by name. */
@Injectable()
export class SealedAddonValues {
  constructor(
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(Registry) private readonly registry: Registry,
  ) {}

  async namesIn(namespace: string): Promise<readonly string[]> {
    return (await this.registry.latest()).namespaces.get(namespace)?.addonSecrets ?? [];
  }

  /** undefined: they were deleted. */
  async valuesOf(namespace: string, name: string): Promise<AddonSecretValues | undefined> {
    const text = await this.secrets.get(addonSecretRef(namespace, name));
    return text === undefined ? undefined : addonSecretOf(text).values;
  }

  async seal(namespace: string, name: string, secret: SealedAddonSecret): Promise<void> {
    await this.secrets.put(addonSecretRef(namespace, name), addonSecretText(secret), ADDON_SECRETS_OWNER);
  }

  async delete(namespace: string, name: string): Promise<void> {
    await this.secrets.delete(addonSecretRef(namespace, name));
  }
}
