import { Inject, Injectable } from '@nestjs/common';
import { ClusterIndex } from '../lifecycle/cluster.index.queries.js';
import { RealmCommands } from '../realms/realms.commands.js';
import { SealedAddonValues } from './addon.secrets.values.js';
import { HookSecretValues } from './hook.secrets.values.js';

/** Names of what a namespace has. */
export interface NamespaceNames {
  readonly clusters: readonly string[];
  readonly secrets: readonly string[];
  readonly addonSecrets: readonly string[];
  readonly realms: readonly string[];
}

/** What belongs to a namespace, and ends with it. */
@Injectable()
export class NamespaceContents {
  constructor(
    @Inject(ClusterIndex) private readonly clusters: ClusterIndex,
    @Inject(HookSecretValues) private readonly secrets: HookSecretValues,
    @Inject(SealedAddonValues) private readonly addonValues: SealedAddonValues,
    @Inject(RealmCommands) private readonly realms: RealmCommands,
  ) {}

  async namesIn(namespace: string): Promise<NamespaceNames> {
    const [clusters, secrets, addonSecrets, realms] = [
      await this.clusters.namesIn(namespace),
      await this.secrets.namesIn(namespace),
      await this.addonValues.namesIn(namespace),
      await this.realms.namesIn(namespace),
    ];
    return { clusters, secrets, addonSecrets, realms };
  }

  /** Deletes secrets and credentials: they are not those of another namespace of this name. */
  async forget(namespace: string, { secrets, addonSecrets, realms }: NamespaceNames): Promise<void> {
    for (const secret of secrets) await this.secrets.delete(namespace, secret);
    for (const secret of addonSecrets) await this.addonValues.delete(namespace, secret);
    await this.realms.forget(namespace, realms);
  }
}
