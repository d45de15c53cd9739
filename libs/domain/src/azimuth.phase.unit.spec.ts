import { AZIMUTH_PHASES, type AzimuthPhase } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { AZIMUTH_TABLE, azimuthPhase, type AzimuthNode, type AzimuthParts } from './azimuth.phase.js';

const node = (change: Partial<AzimuthNode> = {}): AzimuthNode => ({
  ...{ role: 'worker', phase: 'Ready', kubelet: '1.34.4' },
  ...change,
});
const older = { kubelet: '1.33.13' };
const ofControlPlane = { role: 'control-plane' } as const;

/** As it is declared. */
const READY: AzimuthParts = {
  network: 'Provisioned',
  controlPlane: 'Ready',
  nodes: [node(ofControlPlane), node()],
  addons: ['Deployed'],
};

interface Row {
  readonly phase: AzimuthPhase;
  readonly parts: readonly Partial<AzimuthParts>[];
}

const leases = (...all: readonly NonNullable<AzimuthParts['lease']>[]) => all.map((lease) => ({ lease }));
const networks = (...all: readonly AzimuthParts['network'][]) => all.map((network) => ({ network }));
const controlPlanes = (...all: readonly AzimuthParts['controlPlane'][]) =>
  all.map((controlPlane) => ({ controlPlane }));
const nodes = (...all: readonly AzimuthNode['phase'][]) => all.map((phase) => ({ nodes: [node(), node({ phase })] }));
const addons = (...all: readonly AzimuthParts['addons'][number][]) =>
  all.map((phase) => ({ addons: ['Deployed', phase] as const }));
const SEVERAL = [node(ofControlPlane), node({ ...ofControlPlane, ...older })];

/** The rows in azimuth's order, each with every value that it is about. */
const ROWS: readonly Row[] = [
  { phase: 'Pending', parts: leases('Creating', 'Pending', 'Starting', 'Unknown') },
  { phase: 'Failed', parts: leases('Error') },
  { phase: 'Unhealthy', parts: leases('Terminating', 'Terminated', 'Deleting') },
  { phase: 'Reconciling', parts: networks('Pending', 'Provisioning') },
  { phase: 'Deleting', parts: networks('Deleting') },
  { phase: 'Failed', parts: networks('Failed') },
  { phase: 'Pending', parts: networks('Unknown') },
  {
    phase: 'Upgrading',
    parts: controlPlanes('Pending', 'ScalingUp', 'ScalingDown').map((one) => ({ ...one, nodes: SEVERAL })),
  },
  { phase: 'Reconciling', parts: controlPlanes('Pending', 'ScalingUp', 'ScalingDown') },
  { phase: 'Upgrading', parts: controlPlanes('Upgrading') },
  { phase: 'Deleting', parts: controlPlanes('Deleting') },
  { phase: 'Failed', parts: controlPlanes('Failed') },
  { phase: 'Pending', parts: controlPlanes('Unknown') },
  { phase: 'Upgrading', parts: [{ nodes: [node(), node(older)] }] },
  { phase: 'Reconciling', parts: nodes('Pending', 'Provisioning', 'Deleting', 'Deleted') },
  { phase: 'Reconciling', parts: addons('Pending', 'Preparing', 'Installing', 'Upgrading', 'Uninstalling') },
  { phase: 'Unhealthy', parts: controlPlanes('Unhealthy') },
  { phase: 'Unhealthy', parts: nodes('Unhealthy', 'Failed', 'Unknown') },
  { phase: 'Unhealthy', parts: addons('Failed', 'Unknown') },
  { phase: 'Ready', parts: [{}, ...leases('Active', 'Updating'), ...controlPlanes('Ready')] },
];

const EACH = ROWS.flatMap(({ phase, parts }, at) => parts.map((one) => ({ at, phase, parts: one })));

/** Both rows apply. Where both are about the same part, it can have one value only: that of the row above. */
const both = (above: Partial<AzimuthParts>, below: Partial<AzimuthParts>): AzimuthParts => ({
  ...READY,
  ...below,
  ...above,
  ...(above.nodes === undefined || below.nodes === undefined ? {} : { nodes: [...above.nodes, ...below.nodes] }),
  ...(above.addons === undefined || below.addons === undefined ? {} : { addons: [...above.addons, ...below.addons] }),
});

const PAIRS = EACH.flatMap((above) =>
  EACH.filter(({ at }) => at === above.at + 1).map((below) => ({
    above: above.parts,
    below: below.parts,
    rows: `${above.at + 1} and ${below.at + 1}`,
    phase: above.phase,
  })),
);

const rowOf = (parts: AzimuthParts): number => AZIMUTH_TABLE.findIndex(({ applies }) => applies(parts));

describe("azimuth's phase of a cluster", () => {
  it.each(EACH)('is $phase by row $at alone: %j [azimuth 22]', ({ at, phase, parts }) => {
    expect(azimuthPhase({ ...READY, ...parts }, false)).toBe(phase);
    expect(rowOf({ ...READY, ...parts })).toBe(at);
  });

  it.each(PAIRS)('is $phase where the rows $rows apply: $above before $below [azimuth 22]', (pair) => {
    expect(azimuthPhase(both(pair.above, pair.below), false)).toBe(pair.phase);
  });

  it('follows a table of which each row is tested', () =>
    expect(AZIMUTH_TABLE.map(({ phase }) => phase)).toEqual(ROWS.map(({ phase }) => phase)));

  it('is that of the first row that applies, whatever else is true [azimuth 22]', () => {
    const worst: AzimuthParts = {
      lease: 'Error',
      network: 'Failed',
      controlPlane: 'Failed',
      nodes: [node({ phase: 'Failed' }), node(older)],
      addons: ['Failed', 'Installing'],
    };
    const { lease: _lease, ...others } = worst;
    expect(azimuthPhase({ ...worst, lease: 'Pending' }, false)).toBe('Pending');
    expect(azimuthPhase(worst, false)).toBe('Failed');
    expect(azimuthPhase({ ...others, network: 'Deleting' }, false)).toBe('Deleting');
    expect(azimuthPhase({ ...others, network: 'Provisioned', controlPlane: 'Unhealthy' }, false)).toBe('Upgrading');
  });

  it('ignores kubelets that have not reported, and those of the other role [azimuth 23]', () => {
    const silent = [node(), node({ kubelet: undefined }), node({ ...ofControlPlane, ...older })];
    expect(azimuthPhase({ ...READY, nodes: silent }, false)).toBe('Ready');
  });

  it('is Unhealthy where a step in progress is stuck, and only there [azimuth 24]', () => {
    const stuck = EACH.map(({ parts, phase }) => [phase, azimuthPhase({ ...READY, ...parts }, true)] as const);
    const transitional: readonly AzimuthPhase[] = ['Pending', 'Reconciling', 'Upgrading'];
    for (const [before, after] of stuck) expect(after).toBe(transitional.includes(before) ? 'Unhealthy' : before);
    expect(new Set(stuck.map(([before]) => before))).toEqual(
      new Set(AZIMUTH_PHASES.filter((phase) => phase !== 'Unknown')),
    );
  });
});
