import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, nodesOf, rolledOut, type Kubectl } from './kubectl.js';
import { machinesOf, startRealSystem, type RealSystem } from './real.system.js';
import { askPageFrom, pagesAsked, type Traffic } from './traffic.js';
import { timelineOf } from './upgrade.timeline.js';
import { budgetedManifests, webManifests } from './workload.js';

const MINUTE_MS = 60_000;
const CLUSTER = 'surged';
const FROM = 'v1.33.13';
const TO = 'v1.34.4';
/** One additional worker first, and never fewer than requested. */
const STRATEGY = { workers: { maxUnavailable: 0, maxSurge: 1 } };
const ENDS: readonly StoredEvent['type'][] = ['RolloutCompleted', 'RolloutHalted', 'RolloutPaused', 'UpgradeRejected'];

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const hostOf = ({ providerId }: Machine): string => providerId.split('/').at(-1) ?? '';

describe('a minor upgrade of a real cluster of one control plane, whose pool gets a surge host', () => {
  let system: RealSystem;
  let kubectl: Kubectl;
  let made: readonly Machine[];
  let events: readonly StoredEvent[];
  let page: Traffic;

  const extra = (): Machine => {
    const [machine] = machinesOf(events).filter(({ surge }) => surge !== undefined);
    if (machine === undefined) throw new Error('there is no surge machine');
    return machine;
  };
  const at = (type: StoredEvent['type'], node?: string): number =>
    events.findIndex(
      (event) => event.type === type && (node === undefined || ('node' in event.data && event.data.node === node)),
    );

  beforeAll(async () => {
    system = await startRealSystem();
    made = machinesOf(await system.create(CLUSTER, { controlPlanes: 1, workers: 2 }, FROM));
    kubectl = await system.kubectl(CLUSTER);
    const manifest = join(system.environment.dataDir, 'web.json');
    writeFileSync(manifest, JSON.stringify({ ...webManifests, items: budgetedManifests }));
    await kubectl('apply', '-f', manifest);
    await rolledOut(kubectl, 'deployment/web');
    for (const kind of ['daemonset/kube-proxy', 'deployment/coredns'])
      await rolledOut(kubectl, kind, '--namespace=kube-system');
    const service = (await kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}')).trim();
    const askers = made.filter(({ leader }) => leader).map(hostOf);
    await askPageFrom(system, askers, `http://${service}/`);

    const body = { version: TO, approved: true, strategy: STRATEGY };
    expect((await system.call('POST', `/ns/default/clusters/${CLUSTER}/upgrades`, body)).status).toBe(202);
    const end = await system.until(CLUSTER, ({ type }) => ENDS.includes(type), 15 * MINUTE_MS);
    const all = await system.events(CLUSTER);
    events = all.slice(all.findIndex(({ type }) => type === 'UpgradeRequested'));
    [page] = (await pagesAsked(system, askers)) as [Traffic];
    say(timelineOf(events));
    say(`page: ${page.requests} requests, ${page.failures.length} failed, longest gap ${page.longestGap.toFixed(2)} s`);
    if (end.type !== 'RolloutCompleted') throw new Error(`${end.type}: ${JSON.stringify(end.data)}`);
  }, 25 * MINUTE_MS);

  afterAll(() => system?.stop(), 3 * MINUTE_MS);

  it('has the surge host at the new version before any worker is removed, and releases it at the end', () => {
    const { name } = extra();
    const firstToGo = events.findIndex(
      (event) =>
        event.type === 'UpgradeAllowed' && made.some((one) => one.role === 'worker' && one.name === event.data.node),
    );
    expect(at('NodeReady', name)).toBeGreaterThan(at('SurgeRequested'));
    expect(at('NodeReady', name)).toBeLessThan(firstToGo);
    const ready = events[at('NodeReady', name)];
    expect(ready?.data).toMatchObject({ software: { kubelet: TO.slice(1) } });
    const lastDone = events.findLastIndex(({ type }) => type === 'UpgradeWithdrawn');
    expect(at('NodeEmptied', name)).toBeGreaterThan(lastDone);
    expect(at('SurgeReleased')).toBeGreaterThan(at('NodeEmptied', name));
  });

  it(
    'ends with the same nodes at the new version, and nothing left of the surge host',
    async () => {
      const nodes = await eventually(
        'the nodes',
        () => nodesOf(kubectl),
        (seen) => seen.length === made.length && seen.every(({ ready }) => ready),
        MINUTE_MS,
      );
      expect(nodes.map(({ version }) => version)).toEqual(made.map(() => TO));
      expect(nodes.map(({ name }) => name).sort()).toEqual(made.map(({ name }) => name).sort());
      const host = hostOf(extra());
      expect((await system.leftovers([host])).filter((line) => line.includes(host))).toEqual([]);
    },
    2 * MINUTE_MS,
  );

  it('lost no request of the application', () => {
    expect(page.requests).toBeGreaterThan(300);
    expect(page.failures).toEqual([]);
  });
});
