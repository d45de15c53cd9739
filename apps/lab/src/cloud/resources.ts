import * as z from 'zod';
import type { DocumentStore } from '../persistence/document.store.js';
import { notFound } from './cloud.fault.js';
import type { CreatedKind, Stats } from '../stats/stats.js';

export const Network = z.strictObject({ cidr: z.string().max(50), subnet: z.string().max(50) });
export const Firewall = z.strictObject({ rules: z.array(z.json()).max(100) });
export const SshKey = z.strictObject({ publicKey: z.string().min(1).max(10_000) });

/** Named resources of one kind that machines depend on. Putting an existing one replaces its settings. */
export class Resources<T extends object> {
  private readonly items = new Map<string, T>();

  constructor(
    private readonly kind: CreatedKind,
    private readonly schema: z.ZodType<T>,
    private readonly store: DocumentStore,
    private readonly stats: Stats,
  ) {}

  async load(): Promise<void> {
    const stored = z.object({ name: z.string(), settings: this.schema });
    for (const document of await this.store.readAll(this.kind)) {
      const { name, settings } = stored.parse(document);
      this.items.set(name, settings);
    }
  }

  find(name: string): T | undefined {
    return this.items.get(name);
  }

  get(name: string): { readonly name: string } & T {
    const settings = this.items.get(name);
    if (settings === undefined) throw notFound(`${this.kind} ${name}`);
    return { name, ...settings };
  }

  put(name: string, body: unknown): { readonly name: string } & T {
    const settings = this.schema.parse(body);
    if (!this.items.has(name)) this.stats.wasCreated(this.kind, name);
    this.items.set(name, settings);
    this.store.put(this.kind, name, () => ({ name, settings }));
    return { name, ...settings };
  }

  /** Does nothing if it does not exist. */
  remove(name: string): void {
    this.items.delete(name);
    this.store.remove(this.kind, name);
  }
}
