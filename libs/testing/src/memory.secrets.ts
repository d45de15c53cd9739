/**
 * Secrets in memory with the contract of the real store: those of an owner are unreadable once its key is destroyed.
 */
export class MemorySecrets {
  readonly values = new Map<string, { readonly value: string; readonly owner: string }>();

  async put(ref: string, value: string, owner = 'shared'): Promise<void> {
    this.values.set(ref, { value, owner });
  }

  async get(ref: string): Promise<string | undefined> {
    return this.values.get(ref)?.value;
  }

  async delete(ref: string): Promise<void> {
    this.values.delete(ref);
  }

  async destroyKey(owner: string): Promise<void> {
    for (const [ref, secret] of this.values) if (secret.owner === owner) this.values.delete(ref);
  }
}
