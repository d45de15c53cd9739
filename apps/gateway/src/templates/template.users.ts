import type { ClusterName } from '@fairlead/contracts';
import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../http/caller.js';
import { ManifestCommands } from '../manifest/manifest.commands.js';
import type { TemplateAddress } from './templates.commands.js';

/** Which clusters have a template, by the log: rows may not show yet what was applied a moment ago. */
@Injectable()
export class TemplateUsers {
  constructor(@Inject(ManifestCommands) private readonly manifests: ManifestCommands) {}

  /** Of the clusters that ever chose it, those that have it now. */
  of({ namespace, template }: TemplateAddress, caller: Caller) {
    return async (chosenBy: readonly string[]): Promise<readonly string[]> => {
      const users: string[] = [];
      for (const cluster of chosenBy) {
        const declared = await this.manifests.declared({ namespace, cluster: cluster as ClusterName }, caller);
        if (declared?.template?.name === template) users.push(cluster);
      }
      return users;
    };
  }
}
