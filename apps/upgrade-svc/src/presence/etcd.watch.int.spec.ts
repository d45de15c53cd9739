import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { stored } from '@fairlead/event-sourcing/spec';
import type { Fact, NodeName } from '@fairlead/contracts';
import { controlPlane, startLabCluster, type LabCluster } from '../../../../libs/kubernetes/test/lab.cluster.js';
import { clusterRequested, uid } from '../nodes/nodes.fixtures.js';
import { EtcdWatch } from './etcd.watch.js';
import { presence } from './presence.decider.js';
import type { EtcdProblem } from './presence.evolve.js';

const CONTROL_PLANES = [1, 2, 3].map(controlPlane) as NodeName[];

describe('The watch over etcd, while no upgrade is requested', () => {
  let lab: LabCluster;
  let watch: EtcdWatch;

  beforeEach(async () => {
    lab = await startLabCluster({ controlPlanes: 3, workers: 0 });
    watch = new EtcdWatch();
  });
  afterEach(() => lab.stop());

  const look = async () =>
    watch.look({ api: lab.cluster, listed: await lab.cluster.nodes(), controlPlanes: CONTROL_PLANES });
  /** The problems that two checks in a row find. */
  const problems = async (): Promise<readonly EtcdProblem[]> => {
    expect(await look()).toEqual([]);
    return (await look()) ?? [];
  };
  const ghost = (): boolean => lab.simulated.etcd.underTool().announce('https://127.9.9.9:2380');

  it('finds nothing while etcd is healthy, and checks with every fifth list of Nodes', async () => {
    const seen = [];
    for (let count = 0; count < 6; count += 1) seen.push(await look());
    expect(seen).toEqual([[], undefined, undefined, undefined, undefined, []]);
    expect(watch.isSuspected).toBe(false);
  });

  it('reports a member that was added and has not started, with the command that removes it', async () => {
    ghost();
    expect(await problems()).toEqual([
      {
        code: 'B3.not-started',
        message: expect.stringMatching(/^etcd: member [0-9a-f]+ \(https:\/\/127\.9\.9\.9:2380\) has not started$/),
        help: expect.stringMatching(/etcdctl member remove [0-9a-f]+/),
      },
    ]);
  });

  it('reports a permanent learner, an unresponsive member, one that is not a control plane, and an alarm', async () => {
    lab.simulated.etcd.set(controlPlane(1), { learner: true });
    lab.simulated.etcd.set(controlPlane(2), { alarm: 'NOSPACE' });
    lab.simulated.etcd.add('former-cp', 'https://127.9.9.8:2380');
    const found = await problems();
    expect(found.map(({ code }) => code)).toEqual(['B3.members', 'B3.alarms', 'B3.orphans']);
    expect(found.map(({ message }) => message).join('; ')).toMatch(
      new RegExp(`${controlPlane(1)} is still a learner.*NOSPACE on ${controlPlane(2)}.*former-cp`),
    );
    expect(found.map(({ help }) => help).join(' ')).toMatch(/alarm disarm.*member remove/);
  });

  it('does not report a problem that only one check has found, as with a joining member', async () => {
    lab.simulated.etcd.set(controlPlane(1), { learner: true });
    expect(await look()).toEqual([]);
    expect(watch.isSuspected).toBe(true);
    lab.simulated.etcd.set(controlPlane(1), { learner: false });
    expect(await look()).toEqual([]);
    lab.simulated.etcd.set(controlPlane(1), { learner: true });
    watch.forget();
    for (let count = 0; count < 5; count += 1) expect((await look()) ?? []).toEqual([]);
  });

  it('reports nothing while etcd does not respond', async () => {
    const listed = await lab.cluster.nodes();
    for (const node of CONTROL_PLANES) lab.simulated.etcd.set(node, { running: false });
    expect(await watch.look({ api: lab.cluster, listed, controlPlanes: CONTROL_PLANES })).toBeUndefined();
  });
});

describe('etcd that is degraded', () => {
  const problem = (message: string): EtcdProblem => ({ code: 'B3.members', message, help: 'Bring it back.' });
  let state = presence.initial;
  const record = (etcd: readonly EtcdProblem[] | undefined): readonly Fact[] => {
    const findings = { missing: [], strangers: [], overdue: [], contradicted: [], pressures: {} };
    const data = { uid, ...findings, seen: { present: [], strangers: [] }, etcd };
    const facts = presence.decide(state, { type: 'RecordPresence', data }) as readonly Fact[];
    state = facts.map((fact) => stored(fact, 2)).reduce(presence.evolve, state);
    return facts;
  };

  it('is recorded when it starts, changes and ends, but not when only its numbers change', () => {
    state = presence.evolve(presence.initial, stored(clusterRequested(), 1));
    const behind = [problem('etcd: cp-1 is 2000 entries behind its leader')];
    expect(record(behind)).toEqual([{ type: 'EtcdDegraded', data: { uid, problems: behind } }]);
    expect(record([problem('etcd: cp-1 is 2100 entries behind its leader')])).toEqual([]);
    expect(record(undefined)).toEqual([]);
    const down = [problem('etcd: cp-1 is not healthy')];
    expect(record(down)).toEqual([{ type: 'EtcdDegraded', data: { uid, problems: down } }]);
    expect(record([])).toEqual([{ type: 'EtcdRecovered', data: { uid } }]);
    expect(record([])).toEqual([]);
  });
});
