import { ExternalFailure, type ConnectionName, type SshKeyGeneration } from '@fairlead/contracts';
import { generationNumberOf } from '@fairlead/domain';
import { Inject, Injectable } from '@nestjs/common';
import { openConnection } from '../connections/open.connection.js';
import type { Connections } from '../providers/provider.ports.js';
import { ResourceSteps } from '../resources/resource.steps.effects.js';
import type { SharedResources } from '../resources/resources.ports.js';
import { SealedKeys } from '../resources/sealed.keys.effects.js';
import { CONNECTIONS, SHARED_RESOURCES } from '../tokens.js';

/** The keys of a rotation, among the secrets and at the provider. */
@Injectable()
export class RotatedKeys {
  constructor(
    @Inject(CONNECTIONS) private readonly connections: Connections,
    @Inject(SHARED_RESOURCES) private readonly resources: SharedResources,
    @Inject(ResourceSteps) private readonly steps: ResourceSteps,
    @Inject(SealedKeys) private readonly keys: SealedKeys,
  ) {}

  /** Runs while no replica ensures the key of a machine, because `record` changes the current one. */
  async create(
    connection: ConnectionName,
    former: SshKeyGeneration | null,
    signal: AbortSignal,
    record: (key: SshKeyGeneration, former: SshKeyGeneration) => Promise<unknown>,
  ): Promise<void> {
    if (former === null) throw unrotatable(connection, 'it has no SSH key');
    const open = await openConnection(this.connections, connection, { retryable: true });
    await this.resources.alone(connection, async (alone) => {
      const generation = generationNumberOf(former.keyRef) + 1;
      const key = await this.steps.ensureKey(open, generation, AbortSignal.any([alone, signal]));
      if (key.keyRef === former.keyRef) throw unrotatable(connection, 'its SSH key is not one of ours');
      await record(key, former);
    });
  }

  /** At the provider first: after a crash in between, the secret still exists and both are deleted. */
  async destroy(connection: ConnectionName, { sshKey, keyRef }: SshKeyGeneration, signal: AbortSignal): Promise<void> {
    const { provider } = await openConnection(this.connections, connection, { retryable: true });
    await provider.deleteSshKey(sshKey, signal);
    await this.keys.destroy(keyRef);
  }
}

const unrotatable = (target: string, message: string): ExternalFailure =>
  new ExternalFailure({ operation: 'ensure SSH key', target, message, retryable: false });
