import type { ClusterName, Fact, Namespace, NodeName } from '@fairlead/contracts';
import { FoldCache, makeHandle } from '@fairlead/event-sourcing/jetstream';
import { specification } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterSpec, LAB, nodeSet, requested, UID } from '../../test/fixtures.js';
import { MemoryLog } from '../../test/memory.log.js';
import { planCluster } from '../machines/machines.planner.js';
import type { Connections, InfrastructureProvider } from '../providers/provider.ports.js';
import { rowFrom } from '../../test/rows.js';
import { resourcesProjection } from '../resources/resources.projection.js';
import { resourcesStream } from '../resources/resources.decider.js';
import { orphans, ORPHANS_MAX } from './orphans.decider.js';
import { OrphanEffects, OrphansLog } from './orphans.effects.js';
import { PlannedMachines } from '../machines/planned.machines.effects.js';

const group = 'default.demo.lab';
const REQUESTED_AT = '2026-01-01T00:00:00.000Z';
const orphan = (id: string, name = 'stray') => ({ id, name, group, status: 'running' as const });
const found = (id: string, name?: string): Fact<'OrphanVmFound'> => ({
  type: 'OrphanVmFound',
  data: { connection: LAB, ...orphan(id, name) },
});

describe('the orphaned machines of a connection', () => {
  const { given } = specification(orphans);
  const record = (ids: readonly string[], gone: readonly string[] = []) =>
    ({ type: 'RecordOrphans', data: { connection: LAB, found: ids.map((id) => orphan(id)), gone } }) as const;

  it('are stated once, and once more when they are gone', () => {
    given()
      .when(record(['a']))
      .then(found('a'));
    given(found('a'))
      .when(record(['a']))
      .thenNothing();
    given(found('a'))
      .when(record([], ['a', 'b']))
      .then({ type: 'OrphanVmGone', data: { connection: LAB, id: 'a' } });
  });

  it('are no longer orphans once they are adopted, which is recorded once', () => {
    const at = { namespace: 'default' as Namespace, cluster: 'demo' as ClusterName, uid: UID };
    const adopted = { connection: LAB, id: 'a', ...at, node: 'demo-w-1-aaaaa' as NodeName };
    const command = { type: 'RecordOrphanAdopted', data: adopted } as const;
    const fact = { type: 'OrphanVmAdopted', data: adopted } as const;
    given(found('a')).when(command).then(fact);
    given(found('a'), fact).when(command).thenNothing();
    given(found('a'), fact)
      .when(record([], ['a']))
      .thenNothing();
  });

  it('are bounded in number', () => {
    const many = Array.from({ length: ORPHANS_MAX }, (_, at) => found(`i-${at}`));
    given(...many)
      .when(record(['one-more']))
      .thenNothing();
  });
});

describe('the rows of a connection', () => {
  it('contain its orphaned machines until they are gone or deleted: a list is compared with them', async () => {
    const log = new MemoryLog();
    const orphans = () => rowFrom(resourcesProjection, log.events, LAB)?.orphans?.map(({ id }) => id);
    for (const id of ['a', 'b', 'c']) await log.say(resourcesStream(LAB), found(id));
    expect(orphans()).toEqual(['a', 'b', 'c']);
    await log.say(resourcesStream(LAB), { type: 'OrphanVmGone', data: { connection: LAB, id: 'a' } });
    await log.say(resourcesStream(LAB), { type: 'OrphanVmDeleted', data: { connection: LAB, id: 'c' } });
    expect(orphans()).toEqual(['b']);
  });
});

describe('the deletion of an orphaned machine', () => {
  const plans = planCluster(UID, clusterSpec({ workers: [nodeSet(1)] }), () => []);

  /** The events after an administrator requested it. */
  const deletion = async (name: string, listed: boolean, ageMs = 0) => {
    const log = new MemoryLog();
    const own = { namespace: 'default', cluster: 'demo', context: 'machines' };
    await log.say({ ...own, context: 'request' }, requested());
    await log.say(own, { type: 'ClusterAccepted', data: { uid: UID } });
    await log.say(own, { type: 'VmsPlanned', data: { uid: UID, machines: [...plans] } });
    await log.say(resourcesStream(LAB), found('i-1', name));
    const deleted: string[] = [];
    const provider = {
      listMachines: async () => (listed && deleted.length === 0 ? [{ ...orphan('i-1', name), uid: UID }] : []),
      deleteMachine: async (id: string) => void deleted.push(id),
    } as unknown as InfrastructureProvider;
    const connections = { open: async () => ({ provider }) } as unknown as Connections;
    const handle = makeHandle(log, new FoldCache(10));
    const orphanEffects = new OrphanEffects(connections, new PlannedMachines(handle), new OrphansLog(handle), {
      now: () => new Date(Date.parse(REQUESTED_AT) + ageMs),
    });
    const cause = { actor: 'user/ada', correlationId: 'c', causationId: 'c' };
    const data = { connection: LAB, id: 'i-1', requestedAt: REQUESTED_AT };
    const run = () => orphanEffects.delete({ data, cause, signal: new AbortController().signal });
    await run();
    await run();
    return { deleted, stated: log.events.slice(4).map(({ type }) => type) };
  };

  it('deletes exactly that machine, once, and states it once', async () =>
    expect(await deletion('stray', true)).toEqual({ deleted: ['i-1'], stated: ['OrphanVmDeleted'] }));

  it('states it even if the machine is already gone, as after a crash', async () =>
    expect(await deletion('stray', false)).toEqual({ deleted: [], stated: ['OrphanVmDeleted'] }));

  it('is not performed long after the request, because the ID may refer to another machine', async () =>
    expect(await deletion('stray', true, 2 * 3_600_000)).toEqual({ deleted: [], stated: [] }));

  it('keeps a machine that a cluster has planned in the meantime', async () => {
    const { deleted, stated } = await deletion(plans[0]!.name as NodeName, true);
    expect([deleted, new Set(stated)]).toEqual([[], new Set(['OrphanVmKept'])]);
  });
});
