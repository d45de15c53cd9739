import type { ConnectionName, SecretRef } from '@fairlead/contracts';
import { SECRETS, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { SSH_KEYS } from '../tokens.js';
import { sshKeyRef } from './resources.planner.js';
import type { KeyPair, SshKeys } from './resources.ports.js';

/** No single cluster owns the key, so it is not deleted with any. */
const SHARED_OWNER = 'shared';

/** The SSH key of each connection. Its private half exists only sealed among the secrets. */
@Injectable()
export class SealedKeys {
  constructor(
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(SSH_KEYS) private readonly sshKeys: SshKeys,
  ) {}

  /** Generates the key if there is none. Must not run concurrently. */
  async ensure(connection: ConnectionName, generation: number): Promise<KeyPair> {
    const comment = `fairlead@${connection}`;
    const ref = sshKeyRef(connection, generation);
    const sealed = await this.secrets.get(ref);
    if (sealed !== undefined) return this.sshKeys.read(sealed, comment);
    const pair = this.sshKeys.generate(comment);
    await this.secrets.put(ref, pair.privateKey, SHARED_OWNER);
    return pair;
  }

  /** Does nothing if it does not exist. */
  async destroy(ref: SecretRef): Promise<void> {
    await this.secrets.delete(ref);
  }
}
