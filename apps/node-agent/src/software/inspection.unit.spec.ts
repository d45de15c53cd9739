import { ExternalFailure } from '@fairlead/contracts';
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
    throw new ExternalFailure({ operation: 'ctr -n k8s.io images ls -q', target: 'host', message: 'spawn ctr ENOENT' });
  });

describe('an inspection of a host', () => {
  const look = (...stages: Item[][]) => inspect(stages, aptPackages(new MemoryHost()), {});

  it('reports a missing container runtime, although images cannot be listed', async () =>
    expect(await look([missing('runtime')], [unaskable('images'), missing('plugins')])).toMatchObject({
      kind: 'seen',
      differences: [{ item: 'runtime' }, { item: 'plugins' }],
    }));

  it('fails if a dependency exists but does not respond', async () =>
    expect(await look([present('runtime')], [unaskable('images')])).toMatchObject({
      kind: 'failed',
      at: { item: 'images', message: 'spawn ctr ENOENT' },
    }));

  it('is not excused by a missing item of the same stage', async () =>
    expect(await look([missing('plugins'), unaskable('images')])).toMatchObject({ kind: 'failed' }));
});
