import type { NodeList, NodeView, StoredEvent, UpgradeView } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSystem, type System } from './system/system.js';

const MINUTE_MS = 60_000;
const [OLD, NEW] = ['v1.33.13', 'v1.36.3'];
const CLUSTER = '/ns/default/clusters/orb';
const machines = { connection: 'lab', machineType: 'lab.medium' };

/**
 * How long each step may take, from its request to its last event. ORBITER's own test gives 20 minutes to a creation
 * and to a replacement, and 5 to fewer nodes and to an upgrade; its machines boot for minutes, those of the lab do not.
 */
const LIMITS = {
  bootstrap: 3 * MINUTE_MS,
  'down-scale': 3 * MINUTE_MS,
  reboot: 2 * MINUTE_MS,
  replace: 3 * MINUTE_MS,
  upgrade: 5 * MINUTE_MS,
} as const;
type Step = keyof typeof LIMITS;

const isRolloutEnd = ({ type }: StoredEvent): boolean =>
  type === 'RolloutCompleted' || type === 'RolloutHalted' || type === 'UpgradeRejected';

/** One story: each step begins with the cluster that the one before has left. */
describe('a cluster on simulated machines, from 3 control planes and 3 workers on', () => {
  let system: System;
  const took: string[] = [];

  const manifest = (controlPlanes: number, workers: number) => ({
    apiVersion: 'fairlead.dev/v1alpha1',
    kind: 'Cluster',
    metadata: { name: 'orb' },
    spec: {
      version: OLD,
      serviceType: 'single',
      controlPlane: { replicas: controlPlanes, ...machines },
      pools: [{ name: 'application', replicas: workers, ...machines }],
    },
  });
  const log = (): Promise<readonly StoredEvent[]> => system.events('orb');
  const nodes = async (): Promise<readonly NodeView[]> => {
    const seq = (await log()).at(-1)?.meta.seq ?? 0;
    return (await system.call<NodeList>('GET', `${CLUSTER}/nodes?minSeq=${seq}`)).body.items;
  };
  const named = async (role: NodeView['role']): Promise<readonly string[]> =>
    (await nodes()).filter((node) => node.role === role).map(({ name }) => name);

  /** Requests it, waits for each event after the request, and checks the time between the two. */
  const within = async (
    step: Step,
    request: () => Promise<unknown>,
    ...ends: readonly ((event: StoredEvent) => boolean)[]
  ): Promise<readonly StoredEvent[]> => {
    const since = (await log()).at(-1)?.meta.seq ?? 0;
    const fromMs = Date.now();
    await request();
    const found: StoredEvent[] = [];
    for (const isEnd of ends) {
      const leftMs = Math.max(1, fromMs + LIMITS[step] - Date.now());
      found.push(await system.until('orb', (event) => event.meta.seq > since && isEnd(event), leftMs));
    }
    const tookMs = Math.max(...found.map(({ meta }) => Date.parse(meta.time))) - fromMs;
    took.push(`${step} ${(tookMs / 1_000).toFixed(1)} s of ${LIMITS[step] / 1_000} s`);
    expect(tookMs).toBeLessThan(LIMITS[step]);
    return found;
  };
  const accepted = async (method: string, path: string, body: object): Promise<void> => {
    const answer = await system.call(method, `${CLUSTER}${path}`, body);
    expect([answer.status, JSON.stringify(answer.body)]).toEqual([202, expect.anything()]);
  };
  const isGone =
    (name: string | undefined) =>
    (event: StoredEvent): boolean =>
      event.type === 'VmDeleted' && event.data.name === name;

  /** Every node is Ready at the version, and there are no other machines. */
  const expectWhole = async (controlPlanes: number, workers: number, version: string): Promise<void> => {
    const now = await nodes();
    expect(now.map(({ role, ready, software }) => [role, ready, `v${software['kubelet']}`]).toSorted()).toEqual([
      ...Array.from({ length: controlPlanes }, () => ['control-plane', true, version]),
      ...Array.from({ length: workers }, () => ['worker', true, version]),
    ]);
    expect((await system.standing())['machines']).toBe(controlPlanes + workers);
  };

  beforeAll(async () => {
    system = await startSystem({
      light: true,
      env: {
        AGENT_HEARTBEAT_INTERVAL_MS: '500',
        NODE_LOST_AFTER_MS: '5000',
        INFRA_WATCH_INTERVAL_MS: '3600000',
        UPGRADE_PASS_INTERVAL_MS: '200',
        UPGRADE_LOOK_EVERY_MS: '100',
      },
    });
  }, 2 * MINUTE_MS);
  afterAll(async () => {
    process.stdout.write(`${took.join('\n')}\n`);
    await system?.stop();
  }, MINUTE_MS);

  it(
    'is bootstrapped, scaled down to 1 and 1, rebooted, replaced and upgraded over three minors, each step within its time limit [ORBITER 34]',
    async () => {
      await within(
        'bootstrap',
        () => accepted('PUT', '/manifest', manifest(3, 3)),
        ({ type }) => type === 'ClusterReady',
      );
      await expectWhole(3, 3, OLD);

      const before = (await nodes()).map(({ name }) => name as string);
      const leaving = new Set<string>();
      await within(
        'down-scale',
        () => accepted('PUT', '/manifest', manifest(1, 1)),
        (event) =>
          event.type === 'VmDeleted' && before.includes(event.data.name) && leaving.add(event.data.name).size === 4,
      );
      await expectWhole(1, 1, OLD);

      const [controlPlane] = await named('control-plane');
      await within(
        'reboot',
        () => accepted('POST', '/nodes/actions', { action: 'reboot', select: { nodes: [controlPlane] } }),
        (event) => event.type === 'NodeRebooted' && event.data.node === controlPlane,
        (event) => event.type === 'NodeActionSucceeded' && event.data.node === controlPlane,
      );
      await expectWhole(1, 1, OLD);

      await within(
        'replace',
        () => accepted('POST', `/nodes/${controlPlane}/replace`, { reason: 'its disk fails' }),
        (event) => event.type === 'ControlPlaneJoined' && event.data.node !== controlPlane,
        isGone(controlPlane),
      );
      expect(await named('control-plane')).not.toContain(controlPlane);
      await expectWhole(1, 1, OLD);

      let upgrade = '';
      const request = async (): Promise<void> => {
        const asked = await system.call<UpgradeView>(
          'POST',
          `${CLUSTER}/upgrades`,
          { version: NEW },
          { prefer: 'wait=60' },
        );
        expect([asked.body.phase, asked.body.findings]).toEqual(['Planned', expect.anything()]);
        upgrade = asked.body.id;
        await system.call('POST', `${CLUSTER}/upgrades/${upgrade}/approve`, { planHash: asked.body.planHash });
      };
      const [end] = await within(
        'upgrade',
        request,
        (event) => isRolloutEnd(event) && 'upgradeId' in event.data && event.data.upgradeId === upgrade,
      );
      expect(end).toMatchObject({ type: 'RolloutCompleted', data: { skipped: [] } });
      const planned = (await log()).find(
        (event) => event.type === 'UpgradePlanned' && event.data.upgradeId === upgrade,
      );
      const versions =
        planned?.type === 'UpgradePlanned'
          ? planned.data.plan.operations.flatMap(({ kind, change }) =>
              kind === 'control-plane' ? [change?.kubernetes] : [],
            )
          : [];
      expect([...new Set(versions)]).toEqual(['v1.34.4', 'v1.35.4', NEW]);
      await expectWhole(1, 1, NEW);
    },
    17 * MINUTE_MS,
  );
});
