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
  /** Whole or not at all, and for good: from then on services may seal with the current one. */
  writeMasterKeys(keys: MasterKeys): void;
  /** Gives services that have copies of the file the one that there is. */
  handOut(): void;
  /** Waits until what services began before the last change of the file has ended. */
  settle(): Promise<void>;
}

export interface Rotated {
  /** Keys of owners that were resealed. */
  readonly resealed: number;
  /** It finished a rotation that had begun before. */
  readonly resumed: boolean;
}

/** A service may go on making owners' keys with what it has just read; so often they are looked for again. */
const PASSES_MAX = 20;
const NAMED_MAX = 5;

/**
 * Rotates the master key while services run. Ends it at any moment, and the next call goes on: no secret is unreadable in between, and the
 * former key is destroyed last. Throws when a key of an owner opens with neither master key; then nothing was destroyed.
 */
export const rotateMaster = async (world: RotationWorld, made: MasterKey): Promise<Rotated> => {
  const resumed = world.readMasterKeys().other !== undefined;
  for (;;) {
    // A crash may have come between the file and its copies.
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

/** Answers how many there were. */
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
    count += 1; // Also one that was changed meanwhile: the next pass looks again.
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
