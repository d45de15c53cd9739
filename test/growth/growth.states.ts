import { GrowthWorld } from './growth.world.js';

const provision = (more: Parameters<GrowthWorld['create']>[2] = {}): GrowthWorld => {
  const world = new GrowthWorld();
  world.create(3, 2, more);
  world.run();
  const trouble = world.trouble();
  if (trouble !== undefined) throw new Error(trouble);
  return world;
};

let first: GrowthWorld | undefined;
export const provisioned = (): GrowthWorld => (first ??= provision()).copy();

let outside: GrowthWorld | undefined;
/** With an external etcd. */
export const provisionedOutside = (): GrowthWorld => (outside ??= provision({ etcd: 'external' })).copy();

export const worker = (world: GrowthWorld): string => world.members().find((name) => name.includes('-w-')) ?? '';

export const initialControlPlane = (world: GrowthWorld): string =>
  world.members().find((name) => name.includes('-cp-1-')) ?? '';

/** What a cluster may be doing. */
export const STATES: Readonly<Record<string, () => GrowthWorld>> = {
  creating: () => {
    const world = new GrowthWorld();
    world.create(3, 2);
    return world;
  },
  provisioned,
  'adding and joining nodes (rollback)': () => {
    const world = provisioned();
    world.add('rollback');
    return world;
  },
  'adding and joining nodes (keep)': () => {
    const world = provisioned();
    world.add('keep');
    return world;
  },
  'draining, removing and deleting a worker': () => {
    const world = provisioned();
    world.remove(worker(world));
    return world;
  },
  'draining, removing and deleting a control plane': () => {
    const world = provisioned();
    world.remove(world.members().find((name) => name.includes('-cp-2')) ?? '');
    return world;
  },
  'replacing a worker, create-first': () => {
    const world = provisioned();
    world.replace(worker(world), 'create-first');
    return world;
  },
  'replacing the initial control plane, create-first': () => {
    const world = provisioned();
    world.replace(initialControlPlane(world), 'create-first');
    return world;
  },
  'replacing the initial control plane, remove-first': () => {
    const world = provisioned();
    world.replace(initialControlPlane(world), 'remove-first');
    return world;
  },
  'replacing the initial control plane beside an external etcd, create-first': () => {
    const world = provisionedOutside();
    world.replace(initialControlPlane(world), 'create-first');
    return world;
  },
  'replacing the initial control plane beside an external etcd, remove-first': () => {
    const world = provisionedOutside();
    world.replace(initialControlPlane(world), 'remove-first');
    return world;
  },
  'replacing a worker, remove-first': () => {
    const world = provisioned();
    world.replace(worker(world), 'remove-first');
    return world;
  },
  'upgrading with surge': () => {
    const world = provisioned();
    world.surge();
    return world;
  },
  restoring: () => {
    const world = provisioned();
    world.restore();
    return world;
  },
  'deleting the cluster': () => {
    const world = provisioned();
    world.command('delete');
    return world;
  },
};
