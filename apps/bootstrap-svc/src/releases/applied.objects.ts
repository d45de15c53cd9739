import { ExternalFailure } from '@fairlead/contracts';
import { createHash } from 'node:crypto';
import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import { parseInventory, type Inventory, type ObjectRef } from './inventory.js';
import type { DesiredRelease, ReleaseAt, ReleaseEngine, ReleaseStatus } from './releases.ports.js';

const FIRST: readonly string[] = ['Namespace', 'CustomResourceDefinition'];

const refOf = ({ apiVersion, kind, metadata: { name, namespace } }: Manifest): ObjectRef => ({
  apiVersion,
  kind,
  metadata: namespace === undefined ? { name } : { name, namespace },
});

const keyOf = ({ apiVersion, kind, metadata }: ObjectRef): string =>
  `${apiVersion.replace(/(?:^|\/)v[^/]*$/u, '')} ${kind} ${metadata.namespace ?? ''} ${metadata.name}`;

const inventoryName = (name: string): string => `fairlead-addon-${name}`;

/** Objects that others need are first; within that, the declared order. */
const inOrder = (manifests: readonly Manifest[]): readonly Manifest[] =>
  manifests.toSorted(({ kind: one }, { kind: other }) => rank(one) - rank(other));

const rank = (kind: string): number => (FIRST.includes(kind) ? FIRST.indexOf(kind) : FIRST.length);

/**
 * Server-side apply of a manifest's objects. A ConfigMap lists the applied objects, so that later removed ones are
 * pruned.
 */
export class AppliedObjects implements ReleaseEngine {
  async status(at: ReleaseAt): Promise<ReleaseStatus | undefined> {
    const inventory = await this.inventory(at);
    return inventory && { revision: inventory.revision, status: inventory.status };
  }

  async differs(at: ReleaseAt, desired: DesiredRelease): Promise<boolean> {
    return (await this.inventory(at))?.digest !== digestOf(manifestsOf(desired));
  }

  /** Objects are listed before they are applied, so that after a crash none is missing in the list. */
  async deploy(at: ReleaseAt, desired: DesiredRelease): Promise<void> {
    const before = await this.inventory(at);
    const manifests = manifestsOf(desired);
    const digest = digestOf(manifests);
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: at.namespace } };
    await at.api.apply([namespace]);
    const known = await at.api.placed(manifests, at.namespace);
    const old = before?.objects ?? [];
    const revision = (before?.revision ?? 0) + (before?.status === 'deployed' || before === undefined ? 1 : 0);
    await this.write(at, { revision, status: 'pending', objects: union(old, known.map(refOf)), digest });
    await this.apply(at, manifests);
    const objects = (await at.api.placed(manifests, at.namespace)).map(refOf);
    const kept = new Set(objects.map(keyOf));
    // Before a kind was defined, the API did not know whether it is namespaced.
    const former = await at.api.placed(old, at.namespace);
    await at.api.deleteObjects(former.filter((one) => !kept.has(keyOf(one))).toReversed());
    await this.write(at, { revision, status: 'deployed', objects, digest });
  }

  /** A repeated apply is sufficient. */
  async recover(): Promise<void> {
    await Promise.resolve();
  }

  async uninstall(at: ReleaseAt): Promise<void> {
    const inventory = await this.inventory(at);
    if (inventory === undefined) return;
    await at.api.deleteObjects(inventory.objects.toReversed());
    await at.api.deleteObjects([listOf(at)]);
  }

  async drift(at: ReleaseAt, manifests: readonly Manifest[]): Promise<readonly string[]> {
    return at.api.differences(await at.api.placed(manifests, at.namespace));
  }

  /** Definitions first: only then does the API know whether a newly defined kind is namespaced. */
  private async apply(at: ReleaseAt, manifests: readonly Manifest[]): Promise<void> {
    const ordered = inOrder(manifests);
    const isFirst = ({ kind }: Manifest): boolean => FIRST.includes(kind);
    await at.api.apply(await at.api.placed(ordered.filter(isFirst), at.namespace));
    const others = ordered.filter((one) => !isFirst(one));
    await at.api.apply(await at.api.placed(others, at.namespace));
  }

  private async inventory(at: ReleaseAt): Promise<Inventory | undefined> {
    const data = await at.api.configMap(at.namespace, inventoryName(at.name));
    if (data === undefined) return undefined;
    const inventory = parseInventory(data['inventory'] ?? '');
    if (inventory !== undefined) return inventory;
    const message = `the ConfigMap ${at.namespace}/${inventoryName(at.name)} was changed by others: delete it, and the objects are applied again`;
    throw new ExternalFailure({ operation: 'read what was applied', target: at.name, message });
  }

  private write(at: ReleaseAt, inventory: Inventory): Promise<void> {
    return at.api.apply([{ ...listOf(at), data: { inventory: JSON.stringify(inventory) } }]);
  }
}

const listOf = ({ name, namespace }: ReleaseAt) => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap' },
  metadata: { name: inventoryName(name), namespace, labels: { 'app.kubernetes.io/managed-by': 'fairlead' } },
});

const manifestsOf = ({ source }: DesiredRelease): readonly Manifest[] => {
  if (source.kind !== 'manifests') throw new Error('charts are releases of Helm');
  return source.manifests;
};

const digestOf = (manifests: readonly Manifest[]): string =>
  createHash('sha256').update(JSON.stringify(manifests)).digest('hex');

const union = (one: readonly ObjectRef[], other: readonly ObjectRef[]): readonly ObjectRef[] => [
  ...new Map([...one, ...other].map((ref) => [keyOf(ref), ref])).values(),
];
