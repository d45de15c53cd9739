import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Machine, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually, nodesOf, rolledOut, type Kubectl } from './kubectl.js';
import { machinesOf, startRealSystem, type RealSystem } from './real.system.js';
import { askPageFrom, pagesAsked, readApi, type Reads, type Traffic } from './traffic.js';
import { timelineOf } from './upgrade.timeline.js';
import { budgetedManifests, webManifests } from './workload.js';

const MINUTE_MS = 60_000;
const CLUSTER = 'upgraded';
const FROM = 'v1.33.13';
const TO = 'v1.34.4';
/** Random interval between two kills of upgrade-svc. */
const KILL_AFTER_MS = { least: 8_000, most: 30_000 };

const say = (text: string): void => void process.stdout.write(`${text}\n`);
const hostOf = ({ providerId }: Machine): string => providerId.split('/').at(-1) ?? '';

/** Log lines of a host's etcd and API server about slow disks, leader changes, and their own exits. */
const WHAT_STALLED =
  'cd /var/log/pods; for pod in etcd kube-apiserver; do echo $pod; cat kube-system_$pod-*/$pod/*.log | ' +
  "grep -E 'slow fdatasync|took too long|overloaded|[Ll]eader|Shutting down kubernetes service|quota evaluator$|timed out' | tail -60; done";

describe('a minor upgrade of a real cluster in use, whose upgrade-svc is killed repeatedly', () => {
  let system: RealSystem;
  let kubectl: Kubectl;
  let machines: readonly Machine[];
  let events: readonly StoredEvent[];
  let pages: readonly Traffic[];
  let reads: Reads;
  let askers: readonly string[];
  let service = '';
  let kills = 0;

  const ask = async (body: object): Promise<string> => {
    const answer = await system.call<{ id: string }>('POST', `/ns/default/clusters/${CLUSTER}/upgrades`, body);
    expect([answer.status, answer.body]).toEqual([202, expect.anything()]);
    return answer.body.id;
  };
  const of =
    (id: string) =>
    (event: StoredEvent): boolean =>
      'upgradeId' in event.data && event.data.upgradeId === id;
  const until = (id: string, types: readonly StoredEvent['type'][], timeoutMs: number): Promise<StoredEvent> =>
    system.until(CLUSTER, (event) => of(id)(event) && types.includes(event.type), timeoutMs);
  const since = async (id: string): Promise<readonly StoredEvent[]> => {
    const all = await system.events(CLUSTER);
    return all.slice(all.findIndex(of(id)));
  };
  const probes = (): readonly object[] => [
    { name: 'web', url: `http://${service}/`, everyMs: 500 },
    { name: 'api', url: `https://${String(new URL(serverOf()).host)}/readyz`, everyMs: 500 },
  ];
  let server = '';
  const serverOf = (): string => server;

  const tell = (asked: readonly Traffic[], read: Reads): void => {
    for (const [index, { requests, failures, longestGap }] of asked.entries())
      say(
        `page from ${askers[index]}: ${requests} requests, ${failures.length} failed, longest gap ${longestGap.toFixed(2)} s`,
      );
    say(
      `API at ${server}: ${read.requests} reads, ${read.retried.length} retried, ${read.failures.length} failed after one retry, longest gap ${read.longestGap.toFixed(2)} s`,
    );
    read.retried.forEach(say);
  };

  /** Logs of Kubernetes and the agents, for diagnosis. */
  const explain = async (): Promise<void> => {
    say(await kubectl('get', 'events', '-A', '--field-selector', 'type=Warning', '--sort-by', '.lastTimestamp'));
    say(await kubectl('--namespace', 'kube-system', 'get', 'leases', '-o', 'yaml'));
    for (const host of machines.filter(({ role }) => role === 'control-plane').map(hostOf)) {
      say(await system.onHost(host, 'journalctl', '--no-pager', '-u', 'fairlead-agent', '-n', '60'));
      say(await system.onHost(host, 'sh', '-c', WHAT_STALLED));
    }
  };

  const killNowAndThen = async (signal: AbortSignal): Promise<void> => {
    const { least, most } = KILL_AFTER_MS;
    while (!signal.aborted) {
      await sleep(least + Math.random() * (most - least), undefined, { signal }).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
      if (signal.aborted) return;
      system.kill('upgrade-svc');
      kills += 1;
    }
  };

  beforeAll(async () => {
    system = await startRealSystem();
    const created = await system.create(CLUSTER, { controlPlanes: 3, workers: 2 }, FROM);
    machines = machinesOf(created);
    kubectl = await system.kubectl(CLUSTER);
    server = (await kubectl('config', 'view', '--minify', '-o', 'jsonpath={.clusters[0].cluster.server}')).trim();
    const manifest = join(system.environment.dataDir, 'web.json');
    writeFileSync(manifest, JSON.stringify({ ...webManifests, items: budgetedManifests }));
    await kubectl('apply', '-f', manifest);
    await rolledOut(kubectl, 'deployment/web');
    service = (await kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}')).trim();
    // A cluster is Ready when its nodes are; its workloads may take slightly longer, and rule B2 requires those, too.
    for (const kind of ['daemonset/kube-proxy', 'deployment/coredns'])
      await rolledOut(kubectl, kind, '--namespace=kube-system');
    askers = machines.filter(({ role, leader }) => role === 'worker' || leader).map(hostOf);
    await askPageFrom(system, askers, `http://${service}/`);
    const reading = readApi(kubectl);
    const killing = new AbortController();
    const id = await ask({ version: TO, approved: true, strategy: { probes: probes() } });
    const killer = killNowAndThen(killing.signal);
    const ends = ['RolloutCompleted', 'RolloutHalted', 'RolloutPaused', 'UpgradeRejected'] as const;
    const end = await until(id, ends, 20 * MINUTE_MS);
    killing.abort();
    await killer;
    events = await since(id);
    [reads, pages] = await Promise.all([reading.end(), pagesAsked(system, askers)]);
    say(timelineOf(events));
    tell(pages, reads);
    say(`upgrade-svc was killed ${kills} times`);
    if (end.type !== 'RolloutCompleted') {
      await explain();
      throw new Error(`${end.type}: ${JSON.stringify(end.data)}`);
    }
  }, 30 * MINUTE_MS);

  afterAll(() => system?.stop(), 3 * MINUTE_MS);

  it(
    'ends with every node at the new version and schedulable, and etcd too',
    async () => {
      const nodes = await nodesOf(kubectl);
      expect(nodes.map(({ version, ready }) => [version, ready])).toEqual(machines.map(() => [TO, true]));
      const images = await kubectl(
        '-n',
        'kube-system',
        'get',
        'pods',
        '-l',
        'tier=control-plane',
        '-o',
        'jsonpath={..image}',
      );
      const old = images.split(' ').filter((image) => image.includes(FROM) || image.includes('etcd:3.5'));
      expect(old).toEqual([]);
      const cordoned = await kubectl('get', 'nodes', '-o', 'jsonpath={.items[*].spec.unschedulable}');
      expect(cordoned.trim()).toBe('');
    },
    MINUTE_MS,
  );

  it('lost no request of the application, and no read of the API after one retry', () => {
    for (const { requests, failures } of pages) {
      expect(requests).toBeGreaterThan(300);
      expect(failures).toEqual([]);
    }
    expect(reads.requests).toBeGreaterThan(100);
    expect(reads.failures).toEqual([]);
    expect(kills).toBeGreaterThan(3);
  });

  it('was monitored from several nodes from before the first change, without a failure', () => {
    const first = events.findIndex(({ type }) => type === 'UpgradeAllowed');
    const asking = events
      .slice(0, first)
      .flatMap((event) =>
        event.type === 'DesiredVersionsSet' && (event.data.probes ?? []).length > 0 ? [event.data.node] : [],
      );
    expect(new Set(asking).size).toBe(machines.length);
    expect(events.filter(({ type }) => type === 'ProbeFailed')).toEqual([]);
  });

  it(
    'serves every request while kube-proxy is restarted on every node',
    async () => {
      await askPageFrom(system, askers, `http://${service}/`);
      await kubectl('--namespace', 'kube-system', 'rollout', 'restart', 'daemonset/kube-proxy');
      await rolledOut(kubectl, 'daemonset/kube-proxy', '--namespace=kube-system');
      // kube-proxy writes its rules some seconds after its start.
      await sleep(5_000);
      for (const { requests, failures } of await pagesAsked(system, askers)) {
        expect(requests).toBeGreaterThan(20);
        expect(failures).toEqual([]);
      }
    },
    6 * MINUTE_MS,
  );

  const expiryOf = async (): Promise<string> => {
    const certificate = '/etc/kubernetes/pki/apiserver.crt';
    return system.onHost(hostOf(machines[0]!), 'openssl', 'x509', '-noout', '-enddate', '-in', certificate);
  };
  const renewal = { renewCertificates: true, approved: true };

  it(
    'renews certificates under the same traffic without a loss',
    async () => {
      const before = await expiryOf();
      await askPageFrom(system, askers, `http://${service}/`);
      const reading = readApi(kubectl);
      const id = await ask({ ...renewal, strategy: { probes: probes() } });
      const end = await until(id, ['RolloutCompleted', 'RolloutHalted', 'RolloutPaused'], 8 * MINUTE_MS);
      const [read, asked] = await Promise.all([reading.end(), pagesAsked(system, askers)]);
      say(timelineOf(await since(id)));
      tell(asked, read);
      if (end.type !== 'RolloutCompleted') {
        await explain();
        throw new Error(`${end.type}: ${JSON.stringify(end.data)}`);
      }
      expect(asked.flatMap(({ failures }) => failures)).toEqual([]);
      expect(read.failures).toEqual([]);
      expect(await expiryOf()).not.toBe(before);
      await eventually(
        'five Ready nodes',
        () => nodesOf(kubectl),
        (nodes) => nodes.every(({ ready }) => ready),
        MINUTE_MS,
      );
    },
    15 * MINUTE_MS,
  );

  it(
    'pauses when the page fails, resumes on request, and ends cleanly when it is aborted',
    async () => {
      const id = await ask({ ...renewal, strategy: { probes: probes() } });
      await until(id, ['UpgradeAllowed'], 3 * MINUTE_MS);
      await kubectl('scale', 'deployment/web', '--replicas=0');
      const paused = await until(id, ['RolloutPaused'], 2 * MINUTE_MS);
      expect(paused.data).toMatchObject({ by: 'probe' });
      await kubectl('scale', 'deployment/web', '--replicas=4');
      await rolledOut(kubectl, 'deployment/web');
      const recovered = (event: StoredEvent): boolean =>
        event.meta.seq > paused.meta.seq && event.type === 'ProbeRecovered';
      await system.until(CLUSTER, recovered, MINUTE_MS);
      for (const [request, heard] of [
        ['resume', 'RolloutResumed'],
        ['abort', 'RolloutAborted'],
      ] as const) {
        const said = await system.call('POST', `/ns/default/clusters/${CLUSTER}/upgrades/${id}/${request}`, {});
        expect([request, said.status < 300]).toEqual([request, true]);
        await until(id, [heard], 5 * MINUTE_MS);
      }
    },
    15 * MINUTE_MS,
  );
});
