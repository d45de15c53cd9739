import type { NodeSet } from '@fairlead/contracts';
import { setFields } from '@fairlead/domain';
import { describe, expect, it } from '@jest/globals';
import type { RegisteredConnectionDoc } from '../connections/connections.projection.js';
import { unknownSpecs, unknownZones } from './offered.specs.js';

const spec = { name: 'lab.medium', cpuCount: 2, memoryGiB: 4, cpuClockGHz: null };
const lab = {
  name: 'lab',
  registration: {
    provider: 'lab',
    region: 'lab-1',
    zone: '',
    settings: {},
    hasSecret: true,
    registeredAt: '2026-11-21T08:00:00.000Z',
  },
  offer: {
    provider: 'lab',
    region: 'lab-1',
    zones: ['lab-1a', 'lab-1b'],
    specs: [spec],
    capabilities: { nlb: true, simulated: true },
  },
  verifiedAt: '2026-11-21T08:00:01.000Z',
  problem: '',
  stock: {},
} as unknown as RegisteredConnectionDoc;

const asked = (sets: readonly NodeSet[]) => sets.map((set, index) => ({ set, fields: setFields('worker', index) }));
const sets = (...specs: string[]) =>
  asked(specs.map((name) => ({ connection: 'lab', count: 1, spec: name })) as NodeSet[]);

describe('the specs of a request', () => {
  it('are refused with their field where the connection is known not to offer them', () =>
    expect(unknownSpecs([lab], sets('lab.medium', 'nope'))).toMatchObject([
      { code: 'cluster.spec-unknown', field: 'worker[1].spec', message: expect.stringContaining("'nope'") },
    ]));

  it.each([
    ['that the connection offers', [lab], 'lab.medium'],
    ['of a connection that was not reached yet', [{ ...lab, offer: null, verifiedAt: null }], 'nope'],
    ['of one whose settings were replaced since', [{ ...lab, verifiedAt: '2026-11-21T07:59:00.000Z' }], 'nope'],
    ['of one that there is not', [], 'nope'],
  ])('%s are left to infra-svc', (_what, connections, name) =>
    expect(unknownSpecs(connections, sets(name))).toEqual([]),
  );
});

describe('the zones of a request', () => {
  const limitedTo = (...zones: string[]) =>
    asked([{ connection: 'lab', count: 1, spec: 'lab.medium', pool: 'web', zones }] as NodeSet[]);

  it('are refused with their field where the connection is known not to have them', () => {
    expect(unknownZones([lab], limitedTo('lab-1a', 'lab-9'))).toMatchObject([
      { code: 'pool.zone-unknown', field: 'worker[0].zones', message: expect.stringContaining('lab-9') },
    ]);
    const limited = { ...lab, registration: { ...lab.registration, zone: 'lab-1b' } };
    expect(unknownZones([limited], limitedTo('lab-1a'))).toMatchObject([{ code: 'pool.zone-unknown' }]);
    expect(unknownZones([limited], limitedTo('lab-1b'))).toEqual([]);
  });

  it('are left to infra-svc where they are known, none is named, or nothing is known of the connection', () => {
    const unreached = { ...lab, offer: null, verifiedAt: null };
    expect(unknownZones([lab], [...limitedTo('lab-1a'), ...sets('lab.medium')])).toEqual([]);
    expect(unknownZones([unreached], limitedTo('lab-9'))).toEqual([]);
    expect(unknownZones([], limitedTo('lab-9'))).toEqual([]);
  });
});
