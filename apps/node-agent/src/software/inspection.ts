import { ExternalFailure, type SoftwareVersions } from '@fairlead/contracts';
import type { Item } from './item.js';
import type { Stage } from './software.list.js';
import type { PackageDriver } from './package.driver.js';
import { observedSoftware } from './packages.item.js';
import type { Difference } from '../node/difference.js';

/** The result of an inspection, or the command that failed. */
export type Inspection =
  | { readonly kind: 'seen'; readonly differences: readonly Difference[]; readonly software: SoftwareVersions }
  | { readonly kind: 'failed'; readonly at: Failed };

export interface Failed {
  readonly item: string;
  readonly command: string;
  readonly message: string;
}

const failedAt = (item: string, error: unknown): Failed => {
  if (error instanceof ExternalFailure) return { item, command: error.operation, message: error.message };
  return { item, command: '', message: error instanceof Error ? error.message : String(error) };
};

/**
 * Changes nothing. An item that cannot be inspected because an earlier stage is missing is not a failure: that stage is
 * ensured first.
 */
export const inspect = async (
  stages: readonly Stage[],
  packages: Pick<PackageDriver, 'installed'>,
  desired: SoftwareVersions,
): Promise<Inspection> => {
  const differences: Difference[] = [];
  for (const stage of stages) {
    const earlier = differences.length;
    for (const item of stage) {
      try {
        differences.push(...(await item.inspect()));
      } catch (error) {
        if (earlier === 0) return { kind: 'failed', at: failedAt(item.name, error) };
      }
    }
  }
  try {
    return { kind: 'seen', differences, software: await observedSoftware(packages, desired) };
  } catch (error) {
    return { kind: 'failed', at: failedAt('packages', error) };
  }
};

export interface Ensured {
  /** The changes for messages, also if a later item failed. */
  readonly changed: readonly string[];
  readonly failed: Failed | undefined;
}

const ensureItem = async (item: Item): Promise<Ensured> => {
  try {
    const differences = await item.inspect();
    if (differences.length === 0) return { changed: [], failed: undefined };
    await item.ensure(differences);
    const [left] = await item.inspect();
    if (left === undefined)
      return { changed: differences.map(({ what, desired: to }) => `${what}: ${to}`), failed: undefined };
    const message = `${left.what} is still ${left.observed}, desired ${left.desired}`;
    return { changed: [], failed: { item: item.name, command: '', message } };
  } catch (error) {
    return { changed: [], failed: failedAt(item.name, error) };
  }
};

/**
 * Ensures stage by stage, the items of a stage concurrently. Each is inspected again, because an earlier one may have
 * changed it. Stops after a stage in which an item fails, or still differs after it was ensured.
 */
export const ensureAll = async (
  stages: readonly Stage[],
  took: (item: string, ms: number) => void = () => undefined,
): Promise<Ensured> => {
  const changed: string[] = [];
  for (const stage of stages) {
    const ensured = await Promise.all(
      stage.map(async (item) => {
        const beganMs = performance.now();
        return ensureItem(item).finally(() => took(item.name, Math.round(performance.now() - beganMs)));
      }),
    );
    changed.push(...ensured.flatMap((each) => each.changed));
    const failed = ensured.find((each) => each.failed !== undefined)?.failed;
    if (failed !== undefined) return { changed, failed };
  }
  return { changed, failed: undefined };
};
