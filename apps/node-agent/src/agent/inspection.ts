import { WorldFailure, type SoftwareVersions } from '@fairlead/contracts';
import type { Item } from '../software/item.js';
import type { PackageDriver } from '../software/package.driver.js';
import { observedSoftware } from '../software/packages.item.js';
import type { Difference } from './agent.decider.js';

/** A look at the host, or the command that kept us from looking. */
export type Inspection =
  | { readonly kind: 'seen'; readonly differences: readonly Difference[]; readonly software: SoftwareVersions }
  | { readonly kind: 'failed'; readonly at: Failed };

export interface Failed {
  readonly item: string;
  readonly command: string;
  readonly message: string;
}

const failedAt = (item: string, error: unknown): Failed => {
  if (error instanceof WorldFailure) return { item, command: error.operation, message: error.message };
  return { item, command: '', message: error instanceof Error ? error.message : String(error) };
};

/** Changes nothing. */
export const inspect = async (
  items: readonly Item[],
  packages: PackageDriver,
  wanted: SoftwareVersions,
): Promise<Inspection> => {
  const differences: Difference[] = [];
  for (const item of items) {
    try {
      differences.push(...(await item.inspect()));
    } catch (error) {
      return { kind: 'failed', at: failedAt(item.name, error) };
    }
  }
  try {
    return { kind: 'seen', differences, software: await observedSoftware(packages, wanted) };
  } catch (error) {
    return { kind: 'failed', at: failedAt('packages', error) };
  }
};

export interface Ensured {
  /** For people: what was changed, also when a later item failed. */
  readonly changed: readonly string[];
  readonly failed: Failed | undefined;
}

/**
 * Item by item in their order; each is looked at anew, since an earlier one may have changed it. Stops at the first
 * that fails, or that still differs after it was ensured.
 */
export const ensureAll = async (items: readonly Item[]): Promise<Ensured> => {
  const changed: string[] = [];
  for (const item of items) {
    try {
      const differences = await item.inspect();
      if (differences.length === 0) continue;
      await item.ensure(differences);
      const [left] = await item.inspect();
      if (left !== undefined)
        return {
          changed,
          failed: {
            item: item.name,
            command: '',
            message: `${left.what} is still ${left.observed}, wanted ${left.wanted}`,
          },
        };
      changed.push(...differences.map(({ what, wanted: to }) => `${what}: ${to}`));
    } catch (error) {
      return { changed, failed: failedAt(item.name, error) };
    }
  }
  return { changed, failed: undefined };
};
