import { Inject, Injectable } from '@nestjs/common';
import { ClusterIndex } from '../lifecycle/cluster.index.queries.js';
import { RealmCommands } from '../realms/realms.commands.js';
import { HookSecretValues } from './hook.secrets.values.js';

/** Names of what a namespace has. */
export interface NamespaceNames {
  readonly clusters: readonly string[];
  readonly secrets: readonly string[];
  readonly realms: readonly string[];
}

/** What belongs to a namespace, and ends with it. */
@Injectable()
export class NamespaceContents {
  constructor(
    @Inject(ClusterIndex) private readonly clusters: ClusterIndex,
    @Inject(HookSecretValues) private readonly secrets: HookSecretValues,
    @Inject(RealmCommands) private readonly realms: RealmCommands,
  ) {}

  async namesIn(namespace: string): Promise<NamespaceNames> {
    const [clusters, secrets, realms] = [
      await this.clusters.namesIn(namespace),
      await this.secrets.namesIn(namespace),
      await this.realms.namesIn(namespace),
    ];
    return { clusters, secrets, realms };
  }

  /** Deletes secrets and credentials: they are not those of another namespace of this name. */
  async forget(namespace: string, { secrets, realms }: NamespaceNames): Promise<void> {
    for (const secret of secrets) await this.secrets.delete(namespace, secret);
    await this.realms.forget(namespace, realms);
  }
}
