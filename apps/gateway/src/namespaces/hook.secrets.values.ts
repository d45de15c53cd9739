import {
  HOOK_SECRETS_OWNER,
  hookSecretRef,
  oldHookSecretOf,
  oldHookSecretRef,
  oldHookSecretText,
  type OldHookSecret,
} from '@fairlead/contracts';
import { CLOCK, SECRETS, type Clock, type SecretStore } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import { Registry } from '../common/registry.js';

const MS_PER_SECOND = 1_000;

interface HookSecretAt {
  readonly namespace: string;
  readonly name: string;
}

/** The sealed values of hook secrets. Services that ask hooks read them by name. */
@Injectable()
export class HookSecretValues {
  constructor(
    @Inject(SECRETS) private readonly secrets: SecretStore,
    @Inject(Registry) private readonly registry: Registry,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async namesIn(namespace: string): Promise<readonly string[]> {
    return (await this.registry.latest()).namespaces.get(namespace)?.hookSecrets ?? [];
  }

  /** undefined: it was deleted. */
  async valueOf({ namespace, name }: HookSecretAt): Promise<string | undefined> {
    return this.secrets.get(hookSecretRef(namespace, name));
  }

  /** What is still valid when the value is set; undefined: nothing. */
  async oldAfter(at: HookSecretAt, value: string, expireAfterSeconds: number): Promise<OldHookSecret | undefined> {
    const replaced = expireAfterSeconds === 0 ? undefined : await this.replacedBy(at, value);
    if (replaced === undefined) return undefined;
    const untilMs = this.clock.now().getTime() + expireAfterSeconds * MS_PER_SECOND;
    return { value: replaced, validUntil: new Date(untilMs).toISOString() };
  }

  /** A request that is repeated must not take its own value for the one before. */
  private async replacedBy({ namespace, name }: HookSecretAt, value: string): Promise<string | undefined> {
    const current = await this.secrets.get(hookSecretRef(namespace, name));
    if (current !== value) return current;
    const old = await this.secrets.get(oldHookSecretRef(namespace, name));
    return old === undefined ? undefined : oldHookSecretOf(old).value;
  }

  /** The old value first: whatever happens in between, requests are signed with it. */
  async seal({ namespace, name }: HookSecretAt, value: string, old: OldHookSecret | undefined): Promise<void> {
    const oldRef = oldHookSecretRef(namespace, name);
    if (old === undefined) await this.secrets.delete(oldRef);
    else await this.secrets.put(oldRef, oldHookSecretText(old), HOOK_SECRETS_OWNER);
    await this.secrets.put(hookSecretRef(namespace, name), value, HOOK_SECRETS_OWNER);
  }

  async delete(namespace: string, name: string): Promise<void> {
    await this.secrets.delete(oldHookSecretRef(namespace, name));
    await this.secrets.delete(hookSecretRef(namespace, name));
  }
}
