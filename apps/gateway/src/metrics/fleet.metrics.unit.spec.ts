import {
  AZIMUTH_PHASES,
  CLUSTER_STATES,
  CONDITION_REASONS,
  type AzimuthPhase,
  type ClusterLifeState,
  type ClusterPhase,
  type ConditionReason,
} from '@fairlead/contracts';
import type { GaugeRequest } from '@fairlead/service-kit';
import { describe, expect, it } from '@jest/globals';
import { FleetMetrics } from './fleet.metrics.js';

interface Standing {
  readonly state: ClusterLifeState;
  readonly reasons: readonly ConditionReason[];
  readonly version?: string;
  readonly phase?: ClusterPhase;
  readonly azimuthPhase?: AzimuthPhase;
  readonly isStuck?: true;
  /** Absent: it is Ready. */
  readonly notReadySince?: string;
}

const viewOf = (standing: Standing) => {
  const { version = 'v1.34.4', notReadySince, phase = 'Provisioned', azimuthPhase = 'Ready', isStuck } = standing;
  const { state, reasons } = standing;
  const lastTransitionTime = notReadySince ?? '2026-01-01T00:00:00.000Z';
  return {
    status: { state, reasons, phase, azimuthPhase },
    k8sVersion: version,
    conditions: [
      { type: 'Ready', status: notReadySince === undefined ? 'True' : 'False', lastTransitionTime },
      { type: 'Stalled', status: isStuck === true ? 'True' : 'False', lastTransitionTime },
    ],
  };
};

/** Clusters that stand like this, and how often they were read. */
const fleet = (standing: Standing[]) => {
  const gauges = new Map<string, GaugeRequest>();
  const seen = { reads: 0, nowMs: 0, fails: false };
  const clusters = {
    async *everywhere() {
      seen.reads += 1;
      if (seen.fails) throw new Error('the database is away');
      yield* standing.map(viewOf);
    },
  };
  const metrics = { addGauge: (gauge: GaugeRequest) => void gauges.set(gauge.name, gauge) };
  const clock = { now: () => new Date(seen.nowMs) };
  new FleetMetrics(metrics as never, {} as never, clusters as never, clock as never);
  const read = async (name: string): Promise<Readonly<Record<string, number>>> => {
    const readings = (await gauges.get(name)?.read()) ?? [];
    return Object.fromEntries(readings.map(({ labels, value }) => [Object.values(labels).join(), value]));
  };
  return {
    seen,
    states: () => read('fairlead_clusters_by_state'),
    reasons: () => read('fairlead_clusters_by_reason'),
    versions: () => read('fairlead_clusters_by_version'),
    azimuthPhases: () => read('fairlead_clusters_by_azimuth_phase'),
    stuck: () => read('fairlead_clusters_stuck'),
    notReadySince: async () => Object.values(await read('fairlead_clusters_not_ready_oldest_timestamp_seconds')),
  };
};

const zeros = (values: readonly string[]): Readonly<Record<string, number>> =>
  Object.fromEntries(values.map((value) => [value, 0]));
const DEGRADED: Standing = { state: 'Degraded', reasons: ['NodesLost', 'RemediationSuspended'] };

describe('clusters as numbers', () => {
  it('are counted by state, and every state has a number', async () => {
    const { states } = fleet([{ state: 'Running', reasons: [] }, DEGRADED, { ...DEGRADED, reasons: ['NodesLost'] }]);
    expect(await states()).toEqual({ ...zeros(CLUSTER_STATES), Running: 1, Degraded: 2 });
  });

  it('are counted by each reason that their state follows from', async () => {
    const { reasons } = fleet([DEGRADED, { ...DEGRADED, reasons: ['NodesLost'] }]);
    expect(await reasons()).toEqual({ ...zeros(CONDITION_REASONS), NodesLost: 2, RemediationSuspended: 1 });
  });

  it("are counted by azimuth's phase [azimuth 22, azimuth 34]", async () => {
    const { azimuthPhases } = fleet([DEGRADED, { ...DEGRADED, azimuthPhase: 'Unhealthy' }]);
    expect(await azimuthPhases()).toEqual({ ...zeros(AZIMUTH_PHASES), Ready: 1, Unhealthy: 1 });
  });

  it('are counted while a step is stuck, by what it is part of [azimuth 24]', async () => {
    const stuck = (phase: ClusterPhase): Standing => ({ ...DEGRADED, phase, isStuck: true });
    const all = [DEGRADED, stuck('Pending'), stuck('Provisioning'), stuck('Provisioned'), stuck('Deleting')];
    expect(await fleet(all).stuck()).toEqual({ creation: 2, change: 1, deletion: 1 });
    expect(await fleet([DEGRADED]).stuck()).toEqual({ creation: 0, change: 0, deletion: 0 });
  });

  it('are counted by version [azimuth 34]', async () => {
    const { versions } = fleet([DEGRADED, DEGRADED, { ...DEGRADED, version: 'v1.33.13' }]);
    expect(await versions()).toEqual({ 'v1.34.4': 2, 'v1.33.13': 1 });
  });

  it('have the time since when the first of those that are not Ready is not, for an alert after an hour, and none while all are [azimuth 34]', async () => {
    const since = (notReadySince: string): Standing => ({ ...DEGRADED, notReadySince });
    const first = '2026-01-01T08:00:00.000Z';
    const { notReadySince } = fleet([DEGRADED, since('2026-01-01T09:00:00.000Z'), since(first)]);
    expect(await notReadySince()).toEqual([Date.parse(first) / 1_000]);
    expect(await fleet([DEGRADED]).notReadySince()).toEqual([]);
  });

  it('are read once a minute, for both metrics and however many scrape', async () => {
    const standing = [DEGRADED];
    const { seen, states, reasons } = fleet(standing);
    await Promise.all([states(), reasons(), states()]);
    standing.pop();
    seen.nowMs = 59_999;
    expect([(await states())['Degraded'], seen.reads]).toEqual([1, 1]);
    seen.nowMs = 60_000;
    expect([(await states())['Degraded'], seen.reads]).toEqual([0, 2]);
  });

  it('are read again at once after they could not be read', async () => {
    const { seen, states } = fleet([DEGRADED]);
    seen.fails = true;
    await expect(states()).rejects.toThrow('the database is away');
    seen.fails = false;
    expect((await states())['Degraded']).toBe(1);
  });
});
