import { WorldFailure } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { aptPackages } from './apt.packages.js';
import type { Item } from './item.js';
import { MemoryHost } from '../../test/memory.host.js';
import { inspect } from './inspection.js';

const item = (name: string, look: () => string | undefined): Item => ({
  name,
  inspect: () => {
    const observed = look();
    return Promise.resolve(observed === undefined ? [] : [{ item: name, what: name, observed, desired: 'there' }]);
  },
  ensure: () => Promise.resolve(),
});

const missing = (name: string): Item => item(name, () => 'missing');
const present = (name: string): Item => item(name, () => undefined);
const unaskable = (name: string): Item =>
  item(name, () => {
    throw new WorldFailure({ operation: 'ctr -n k8s.io images ls -q', target: 'host', message: 'spawn ctr ENOENT' });
  });

describe('a look at a host', () => {
  const look = (...stages: Item[][]) => inspect(stages, aptPackages(new MemoryHost()), {});

  it('that has no container runtime yet sees that, though no one can be asked for images', async () =>
    expect(await look([missing('runtime')], [unaskable('images'), missing('plugins')])).toMatchObject({
      kind: 'seen',
      differences: [{ item: 'runtime' }, { item: 'plugins' }],
    }));

  it('fails where what it needs is there and cannot be asked', async () =>
    expect(await look([present('runtime')], [unaskable('images')])).toMatchObject({
      kind: 'failed',
      at: { item: 'images', message: 'spawn ctr ENOENT' },
    }));

  it('is excused by no neighbour of the same stage', async () =>
    expect(await look([missing('plugins'), unaskable('images')])).toMatchObject({ kind: 'failed' }));
});
