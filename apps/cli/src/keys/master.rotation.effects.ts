import {
  isOutdated,
  openOwnerKey,
  sealOwnerKey,
  type MasterKey,
  type MasterKeys,
} from '@fairlead/embedded/credentials';
import { CliFailure } from '../failures.js';
import type { OwnerKeys } from '../instance/owner.keys.store.js';
import { nextStep } from './master.rotation.planner.js';

export interface RotationWorld {
  readonly ownerKeys: OwnerKeys;
  readMasterKeys(): MasterKeys;
  /** Writes the keys atomically and durably: afterwards services may seal with the current key. */
  writeMasterKeys(keys: MasterKeys): void;
  /** Distributes the current file to services that have copies. */
  handOut(): void;
  /** Waits until all work that services started before the last change of the file has ended. */
  settle(): Promise<void>;
}

export interface Rotated {
  /** Number of owners' keys that were resealed. */
  readonly resealed: number;
  /** Whether it completed a rotation that had been started earlier. */
  readonly resumed: boolean;
}

/**
 * A service may still create owners' keys with the key that it has just read; the search for them is repeated up to
 * this number.
 */
const PASSES_MAX = 20;
const NAMED_MAX = 5;

/**
 * Rotates the master key while services run. Can be interrupted at any time, and the next call continues: every secret
 * stays readable, and the former key is destroyed last. Throws if neither master key opens the key of an owner; nothing
 * is destroyed then.
 */
export const rotateMaster = async (world: RotationWorld, made: MasterKey): Promise<Rotated> => {
  const resumed = world.readMasterKeys().other !== undefined;
  for (;;) {
    // An earlier call may have crashed between the write and the distribution.
    world.handOut();
    const keys = world.readMasterKeys();
    const step = nextStep(keys, made);
    const resealed = step.kind === 'destroy' ? await resealAll(world, keys) : 0;
    world.writeMasterKeys(step.keys);
    world.handOut();
    if (step.kind === 'destroy') return { resealed: resealed + (await reseal(world.ownerKeys, keys)), resumed };
  }
};

const resealAll = async ({ ownerKeys, settle }: RotationWorld, keys: MasterKeys): Promise<number> => {
  let resealed = await reseal(ownerKeys, keys);
  for (let pass = 0; pass < PASSES_MAX; pass += 1) {
    await settle();
    const late = await reseal(ownerKeys, keys);
    if (late === 0) return resealed;
    resealed += late;
  }
  throw new CliFailure('failed', {
    code: 'cli.keys-still-made',
    message: `After ${PASSES_MAX} passes services still seal with the former master key`,
    help: 'A service has an old copy of master.key: hand the file out to it, or restart it, and run this again.',
  });
};

/** Returns the number of resealed keys. */
const reseal = async (ownerKeys: OwnerKeys, keys: MasterKeys): Promise<number> => {
  const unreadable: string[] = [];
  let count = 0;
  for (const name of await ownerKeys.names()) {
    const entry = await ownerKeys.read(name);
    if (entry === undefined || !isOutdated(keys, entry.sealed)) continue;
    const opened = openOwnerKey(keys, entry.sealed, name);
    if (opened === undefined) {
      unreadable.push(name);
      continue;
    }
    await ownerKeys.replace(name, sealOwnerKey(keys, opened.key, name), entry.revision);
    count += 1; // Also counts a key that was changed concurrently: the next pass checks it again.
  }
  if (unreadable.length > 0) throw unreadableFailure(unreadable);
  return count;
};

const unreadableFailure = (names: readonly string[]): CliFailure =>
  new CliFailure('failed', {
    code: 'cli.keys-unreadable',
    message: `${names.length} keys of owners open with neither master key: ${names.slice(0, NAMED_MAX).join(', ')}${names.length > NAMED_MAX ? ' …' : ''}`,
    help: 'Nothing was destroyed. The data folder may be of another installation than this NATS; or restore the file keys/master.key that they were sealed with.',
  });
