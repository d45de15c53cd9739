import type { Fact, StoredEvent } from '@fairlead/contracts';
import { project, type Projection } from '@fairlead/event-sourcing';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { clusterSpec, LATER_UID, requested, runningMachine, UID } from '../../test/fixtures.js';
import { planCluster } from './machines.planner.js';
import { clustersProjection, machinesProjection } from './machines.projection.js';

const plans = planCluster(UID, clusterSpec(), () => []);
const [first] = plans;
const planned: Fact = { type: 'VmsPlanned', data: { uid: UID, machines: [...plans] } };
const created: Fact = { type: 'VmCreated', data: { uid: UID, machine: runningMachine(first!) } };
const failed: Fact = {
  type: 'InfrastructureFailed',
  data: { uid: UID, step: 's', reason: 'r', cause: { operation: 'o', target: 't', message: 'no luck' } },
};
const about = (type: 'ClusterAccepted' | 'ClusterRetryRequested' | 'ClusterDeletionRequested' | 'ClusterDeleted') =>
  ({ type, data: { uid: UID } }) as Fact;

const rowsAfter = <Row>(projection: Projection<Row>, ...facts: readonly Fact[]): ReadonlyMap<string, Row> => {
  const events: readonly StoredEvent[] = facts.map((fact, at) => stored(fact, at + 1));
  const { rows, poisons } = project(projection, () => undefined, events);
  expect(poisons).toEqual([]);
  return new Map([...rows].flatMap(([key, { doc }]) => (doc === undefined ? [] : [[key, doc] as const])));
};

describe('the rows of machines', () => {
  it('exist from the plan on, and contain the machine once it runs', () => {
    const rows = rowsAfter(machinesProjection, requested(), planned, created);
    expect(rows.size).toBe(5);
    expect(rows.get(`default/demo/${first!.name}`)).toMatchObject({ connection: 'lab', machine: { csp: 'lab' } });
    expect([...rows.values()].filter(({ machine }) => machine === null)).toHaveLength(4);
  });

  it('are removed with the machine', () => {
    const gone: Fact = { type: 'VmDeleted', data: { uid: UID, name: first!.name } };
    expect(rowsAfter(machinesProjection, requested(), planned, created, gone).size).toBe(4);
  });
});

describe('the row of a cluster', () => {
  const rowOf = (...facts: readonly Fact[]) => rowsAfter(clustersProjection, requested(), ...facts).get('default/demo');

  it('shows the progress of the cluster', () => {
    expect(rowOf()).toMatchObject({ uid: UID, status: 'requested', failure: null });
    expect(rowOf(about('ClusterAccepted'))).toMatchObject({ status: 'desired' });
    const balanced: Fact = { type: 'LoadBalancerReady', data: { uid: UID, kind: 'nlb', host: 'h', port: 6443 } };
    expect(rowOf(about('ClusterAccepted'), balanced)).toMatchObject({ status: 'made' });
  });

  it('has the cause of its failure until it is retried', () => {
    expect(rowOf(failed)).toMatchObject({ status: 'failed', failure: { message: 'no luck' } });
    expect(rowOf(failed, about('ClusterRetryRequested'))).toMatchObject({ failure: null });
  });

  it('is removed with the cluster, and is not changed by another incarnation', () => {
    expect(rowOf(about('ClusterDeletionRequested'), about('ClusterDeleted'))).toBeUndefined();
    const other: Fact = { type: 'ClusterDeleted', data: { uid: LATER_UID } };
    expect(rowOf(other)).toMatchObject({ uid: UID });
  });
});
