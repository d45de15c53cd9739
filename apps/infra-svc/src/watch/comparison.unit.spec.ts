import type { ClusterUid, Namespace, NodeName } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { UID } from '../../test/fixtures.js';
import type { ListedMachine } from '../providers/provider.ports.js';
import { compare, NO_MEMORY, type RecordedMachine, type World } from './comparison.planner.js';

const addresses = (at: number) => ({
  publicIp: `127.1.0.${at}`,
  privateIp: `10.0.0.${at}`,
  ssh: { host: `127.1.0.${at}`, port: 22 },
});

const recorded = (name: string, over: Partial<RecordedMachine> = {}): RecordedMachine => ({
  namespace: 'default' as Namespace,
  cluster: 'demo',
  uid: UID,
  name: name as NodeName,
  running: { id: `i-${name}`, addresses: addresses(1) },
  lost: false,
  stopped: false,
  ...over,
});

const listed = (name: string, over: Partial<ListedMachine> = {}, at = 1): ListedMachine => ({
  id: `i-${name}`,
  name: name as NodeName,
  uid: UID as ClusterUid,
  group: 'default.demo.lab',
  status: 'running',
  ...addresses(at),
  region: 'lab-1',
  zone: 'lab-1a',
  ...(over as object),
  ssh: { user: 'root', hostKey: null, ...addresses(at).ssh },
});

const world = (over: Partial<World>): World => ({ recorded: [], listed: [], orphans: [], ...over });

/** The findings after each of several lists. */
const looks = (...worlds: readonly World[]) => {
  let memory = NO_MEMORY;
  return worlds.map((one) => {
    const { clusters, orphans, memory: next } = compare(one, memory);
    memory = next;
    return {
      differences: clusters.flatMap(({ differences }) => differences.map(({ node, kind }) => [node, kind])),
      found: orphans.found.map(({ id }) => id),
      gone: orphans.gone,
    };
  });
};

const NOTHING = { differences: [], found: [], gone: [] };

describe('a difference between the list of a provider and the log', () => {
  const here = world({ recorded: [recorded('a')], listed: [listed('a')] });
  const away = world({ recorded: [recorded('a')] });

  it('counts when two consecutive lists agree', () => {
    expect(looks(here, away, here, away, away)).toEqual([
      NOTHING,
      NOTHING,
      NOTHING,
      NOTHING,
      { ...NOTHING, differences: [['a', 'gone']] },
    ]);
  });

  it.each<[string, RecordedMachine, readonly ListedMachine[]]>([
    ['gone', recorded('a'), []],
    ['gone', recorded('a'), [listed('a', { id: 'another' })]],
    ['returned', recorded('a', { lost: true }), [listed('a')]],
    ['stopped', recorded('a'), [listed('a', { status: 'stopped' })]],
    ['started', recorded('a', { stopped: true }), [listed('a')]],
    ['moved', recorded('a'), [listed('a', {}, 9)]],
  ])('is that a machine is %s', (kind, row, list) => {
    const one = world({ recorded: [row], listed: list });
    expect(looks(one, one)[1]?.differences).toEqual([['a', kind]]);
  });

  it('does not exist for a machine that is not running yet, is being created, failed, or has no address', () => {
    const rows = [recorded('a', { running: null }), recorded('b'), recorded('c'), recorded('d')];
    const list = [
      listed('b', { status: 'creating' }),
      listed('c', { status: 'failed' }),
      { ...listed('d'), publicIp: '', ssh: { user: 'root', hostKey: null, host: '', port: 22 } } as ListedMachine,
    ];
    const one = world({ recorded: rows, listed: list });
    expect(looks(one, one)).toEqual([NOTHING, NOTHING]);
  });

  it('does not exist if it is already stated', () => {
    const one = world({
      recorded: [recorded('b', { stopped: true })],
      listed: [listed('b', { status: 'stopped' })],
    });
    expect(looks(one, one)).toEqual([NOTHING, NOTHING]);
  });

  it('is a machine that remains missing, each time, so that its replacement is decided again', () => {
    const one = world({ recorded: [recorded('a', { lost: true })], listed: [] });
    expect(looks(one, one, one).map(({ differences }) => differences)).toEqual([[], [['a', 'gone']], [['a', 'gone']]]);
  });

  it('must be the same in both: another new address starts over', () => {
    const at = (address: number) => world({ recorded: [recorded('a')], listed: [listed('a', {}, address)] });
    expect(looks(at(2), at(3), at(3)).map(({ differences }) => differences.length)).toEqual([0, 0, 1]);
  });
});

describe('an orphaned machine', () => {
  it("has a group of Fairlead's, and no cluster has planned it", () => {
    const stray = world({ recorded: [recorded('a')], listed: [listed('a'), listed('z')] });
    expect(looks(stray, stray)).toEqual([NOTHING, { ...NOTHING, found: ['i-z'] }]);
  });

  it('is not one that is planned but not yet recorded as running', () => {
    const one = world({ recorded: [recorded('a', { running: null })], listed: [listed('a')] });
    expect(looks(one, one)).toEqual([NOTHING, NOTHING]);
  });

  it('may have the name of a known machine', () => {
    const one = world({ recorded: [recorded('a')], listed: [listed('a'), listed('a', { id: 'twin' })] });
    expect(looks(one, one)[1]?.found).toEqual(['twin']);
  });

  it('is recorded as gone once it is no longer listed, or planned', () => {
    const one = world({ recorded: [recorded('a')], listed: [listed('a')], orphans: ['i-a', 'i-b'] });
    expect(looks(one, one)[1]?.gone).toEqual(['i-a', 'i-b']);
  });

  it.each(['', 'x'.repeat(257)])('with an invalid ID is ignored (%#)', (id) => {
    const one = world({ listed: [listed('z', { id })] });
    expect(looks(one, one)[1]?.found).toEqual([]);
  });

  it('with a long name is recorded with a truncated one', () => {
    const one = world({ listed: [listed('z'.repeat(10_000), { id: 'i' })] });
    const { memory } = compare(one, NO_MEMORY);
    expect(compare(one, memory).orphans.found[0]?.name).toHaveLength(512);
  });
});

describe('a list of 10,000 machines', () => {
  const count = 10_000;
  const rows = Array.from({ length: count }, (_, at) => recorded(`m-${at}`));
  const list = rows.map(({ name }) => listed(name));

  it('finds the one that is gone', () => {
    const one = world({ recorded: rows, listed: list.slice(1) });
    expect(looks(one, one)[1]?.differences).toEqual([['m-0', 'gone']]);
  });
});
