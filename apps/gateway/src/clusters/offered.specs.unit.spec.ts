import type { NodeSet } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import type { RegisteredConnectionDoc } from '../connections/connections.projection.js';
import { unknownSpecs } from './offered.specs.js';

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
  offer: { provider: 'lab', region: 'lab-1', zones: [], specs: [spec], capabilities: { nlb: true, simulated: true } },
  verifiedAt: '2026-11-21T08:00:01.000Z',
  problem: '',
  stock: {},
} as unknown as RegisteredConnectionDoc;

const sets = (...specs: string[]) => specs.map((name) => ({ connection: 'lab', count: 1, spec: name })) as NodeSet[];

describe('the specs of a request', () => {
  it('are refused with their field where the connection is known not to offer them', () =>
    expect(unknownSpecs([lab], sets('lab.medium', 'nope'), 'worker')).toMatchObject([
      { code: 'cluster.spec-unknown', field: 'worker[1].spec', message: expect.stringContaining("'nope'") },
    ]));

  it.each([
    ['that the connection offers', [lab], 'lab.medium'],
    ['of a connection that was not reached yet', [{ ...lab, offer: null, verifiedAt: null }], 'nope'],
    ['of one whose settings were replaced since', [{ ...lab, verifiedAt: '2026-11-21T07:59:00.000Z' }], 'nope'],
    ['of one that there is not', [], 'nope'],
  ])('%s are left to infra-svc', (_what, connections, name) =>
    expect(unknownSpecs(connections, sets(name), 'worker')).toEqual([]),
  );
});
