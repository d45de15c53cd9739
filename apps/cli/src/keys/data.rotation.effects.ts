import {
  bytesOfRing,
  open,
  openOwnerKey,
  ringOf,
  seal,
  sealOwnerKey,
  type MasterKeys,
  type OwnerRing,
} from '@fairlead/embedded/credentials';
import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { CliFailure } from '../failures.js';
import type { OwnerKeys, SealedSecrets } from '../instance/owner.keys.store.js';
import { ringAfter, type DataStep } from './data.rotation.planner.js';

export interface DataRotationWorld {
  readonly ownerKeys: OwnerKeys;
  readonly secrets: SealedSecrets;
  readMasterKeys(): MasterKeys;
  /** Waits until no service has keys of owners that it read before, and what it sealed with them is stored. */
  forgotten(): Promise<void>;
}

const KEY_BYTES = 32;
const PASSES_MAX = 20;
const NAMED_MAX = 5;

const Sealed = z.object({ owner: z.string(), value: z.string() });

/**
 * Replaces the key of every owner, and reseals its secrets, while services run. Can be interrupted at any time, and the
 * next call continues: every secret stays readable, and a former key is dropped only when nothing is sealed with it.
 * Returns the number of secrets that were resealed.
 */
export const rotateDataKeys = async (world: DataRotationWorld): Promise<number> => {
  await stepOfAll(world, 'announce');
  await world.forgotten();
  await stepOfAll(world, 'switch');
  await world.forgotten();
  const resealed = await resealAll(world);
  await stepOfAll(world, 'drop');
  return resealed;
};

const stepOfAll = async (world: DataRotationWorld, step: DataStep): Promise<void> => {
  for (const name of await world.ownerKeys.names()) await stepOf(world, name, step);
};

/** A key that changes concurrently is read again; one that is destroyed stays so. */
const stepOf = async (world: DataRotationWorld, name: string, step: DataStep): Promise<void> => {
  for (;;) {
    const entry = await world.ownerKeys.read(name);
    if (entry === undefined) return;
    const keys = world.readMasterKeys();
    const after = ringAfter(ringIn(keys, name, entry.sealed), step, randomBytes(KEY_BYTES));
    if (after === undefined) return;
    const sealed = sealOwnerKey(keys, Buffer.from(bytesOfRing(after)), name);
    if (await world.ownerKeys.replace(name, sealed, entry.revision)) return;
  }
};

const ringIn = (keys: MasterKeys, name: string, sealed: string): OwnerRing => {
  const found = openOwnerKey(keys, sealed, name);
  if (found === undefined) throw unreadable([name]);
  return ringOf(found.key);
};

const resealAll = async (world: DataRotationWorld): Promise<number> => {
  let resealed = 0;
  for (let pass = 0; pass < PASSES_MAX; pass += 1) {
    const count = await reseal(world);
    if (count === 0) return resealed;
    resealed += count;
  }
  throw new CliFailure('failed', {
    code: 'cli.secrets-still-sealed',
    message: `After ${PASSES_MAX} passes services still seal with former keys`,
    help: 'Restart services that do not follow, and run this again.',
  });
};

/** Returns the number of secrets that were sealed with a former key; one that changes concurrently counts, too. */
const reseal = async (world: DataRotationWorld): Promise<number> => {
  const keys = world.readMasterKeys();
  const rings = new Map<string, Promise<OwnerRing | undefined>>();
  const ringNamed = (name: string): Promise<OwnerRing | undefined> => {
    const known = rings.get(name);
    if (known !== undefined) return known;
    const read = world.ownerKeys.read(name).then((entry) => entry && ringIn(keys, name, entry.sealed));
    rings.set(name, read);
    return read;
  };
  const foreign: string[] = [];
  let count = 0;
  for (const ref of await world.secrets.names()) {
    const entry = await world.secrets.read(ref);
    if (entry === undefined) continue;
    const { owner, value } = Sealed.parse(JSON.parse(entry.text));
    const ring = await ringNamed(`${ref.split('.')[0]}.key.${owner}`);
    if (ring?.other?.role !== 'previous' || opens(ring.current, value, ref)) continue;
    if (!opens(ring.other.key, value, ref)) foreign.push(ref);
    else {
      const text = JSON.stringify({ owner, value: seal(ring.current, open(ring.other.key, value, ref), ref) });
      await world.secrets.replace(ref, text, entry.revision);
      count += 1;
    }
  }
  if (foreign.length > 0) throw unreadable(foreign);
  return count;
};

const opens = (key: Uint8Array, sealed: string, context: string): boolean => {
  try {
    open(key, sealed, context);
    return true;
  } catch {
    return false;
  }
};

const unreadable = (names: readonly string[]): CliFailure =>
  new CliFailure('failed', {
    code: 'cli.secrets-unreadable',
    message: `${names.length} secrets open with no key of their owners: ${names.slice(0, NAMED_MAX).join(', ')}${names.length > NAMED_MAX ? ' …' : ''}`,
    help: 'Nothing was destroyed. They were changed or moved: set them again, or restore them, and run this again.',
  });
