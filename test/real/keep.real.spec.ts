import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ClusterManifestView, EventType, NodeList, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fairleadOf, type Fairlead } from './fairlead.js';
import { eventually, nodesOf, rolledOut, type Kubectl } from './kubectl.js';
import { recordPage, type PageRecord } from './page.record.js';
import { CONNECTION, startRealSystem, VERSION, type RealSystem } from './real.system.js';
import { askPageFrom, pagesAsked, probeApi, type ApiProbe, type Traffic } from './traffic.js';
import { budgetedManifests, nodesOfPage, webManifests } from './workload.js';

const MINUTE_MS = 60_000;
const STEP_MS = 10 * MINUTE_MS;
const CLUSTER = 'kept';
const PATH = `/ns/default/clusters/${CLUSTER}`;
const HEALTH = { unhealthyAfter: '10s', retryPeriod: '0s', minHealthyPeriod: '0s' };
/** Until haproxy has detected a dead host: three failed checks, and the requests that wait for it meanwhile. */
const BALANCER_NOTICES_MS = 15_000;
/** From the time at which a pod is no longer an endpoint until no node sends requests to it. */
const ENDPOINTS_FOLLOW_MS = 15_000;
/** Until Kubernetes shows what Fairlead reports as done; on a busy machine its controllers are slow. */
const SETTLES_MS = 4 * MINUTE_MS;

/** The declaration: the whole story consists of changes to it. */
interface Declared {
  readonly controlPlanes: number;
  readonly workers: number;
  readonly machineType: string;
}

const manifestOf = ({ controlPlanes, workers, machineType }: Declared) => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: CLUSTER },
  spec: {
    version: VERSION,
    serviceType: 'single',
    controlPlane: {
      ...{ replicas: controlPlanes, connection: CONNECTION, machineType: 'nspawn.large' },
      health: HEALTH,
    },
    pools: [{ name: 'web', replicas: workers, connection: CONNECTION, machineType, health: HEALTH }],
  },
});

describe('one declared cluster on real hosts, in use while its nodes are added, removed, fail and are replaced', () => {
  let system: RealSystem;
  let fairlead: Fairlead;
  let kubectl: Kubectl;
  let api: ApiProbe;
  let record: PageRecord;
  let page = '';
  let declared: Declared = { controlPlanes: 1, workers: 2, machineType: 'nspawn.medium' };
  const begunAt = Date.now();
  /** When a control plane's host was destroyed: API requests may fail until the load balancer has noticed. */
  let controlPlaneGoneAt = 0;

  const say = (text: string): void =>
    void process.stdout.write(`${((Date.now() - begunAt) / 1_000).toFixed(0).padStart(4)} s  ${text}\n`);
  const log = (): Promise<readonly StoredEvent[]> => system.events(CLUSTER);
  const lastSeq = async (): Promise<number> => (await log()).at(-1)?.meta.seq ?? 0;
  const until = async <T extends EventType>(type: T, after: number, node: string): Promise<StoredEvent<T>> => {
    const isIt = (event: StoredEvent): boolean =>
      event.type === type && event.meta.seq > after && 'node' in event.data && event.data.node === node;
    return (await system.until(CLUSTER, isIt, STEP_MS)) as StoredEvent<T>;
  };
  const nodes = async (role: 'control-plane' | 'worker'): Promise<NodeList['items']> => {
    const { items } = (await system.call<NodeList>('GET', `${PATH}/nodes?minSeq=${await lastSeq()}`)).body;
    return items.filter((node) => node.role === role);
  };
  const namesOf = async (role: 'control-plane' | 'worker'): Promise<readonly string[]> =>
    (await nodes(role)).map(({ name }) => name).sort();
  const initial = async (): Promise<string> => {
    const [name, ...others] = (await nodes('control-plane')).filter(({ leader }) => leader).map((node) => node.name);
    expect([typeof name, others]).toEqual(['string', []]);
    return name ?? '';
  };

  const applyDeclared = (): Promise<string> => fairlead.apply(manifestOf(declared));

  /** The hosts, the Kubernetes nodes and the etcd members match the declaration. */
  const settled = async (): Promise<void> => {
    const expected = declared.controlPlanes + declared.workers;
    await eventually(
      `${expected} Ready nodes, and their hosts alone`,
      async () => {
        const found = await nodesOf(kubectl);
        return { found, hosts: system.local.hosts.all().map(({ name }) => name) };
      },
      ({ found, hosts }) =>
        [found.length, hosts.length].every((count) => count === expected) &&
        found.every(({ name, ready, version }) => hosts.includes(name) && ready && version === VERSION),
      SETTLES_MS,
    );
    const controlPlanes = await eventually(
      'Fairlead to show no others',
      () => namesOf('control-plane'),
      ({ length }) => length === declared.controlPlanes,
      MINUTE_MS,
    );
    await eventually(
      'Fairlead to show no other workers',
      () => namesOf('worker'),
      ({ length }) => length === declared.workers,
      MINUTE_MS,
    );
    const members = await eventually(
      'etcd to name its members',
      () => etcdMembers(controlPlanes[0] ?? ''),
      () => true,
      MINUTE_MS,
    );
    expect(members).toEqual(controlPlanes);
    await rolledOut(kubectl, 'deployment/web');
  };
  const etcdMembers = async (asked: string): Promise<readonly string[]> => {
    const text = await kubectl(
      ...['--namespace', 'kube-system', 'exec', `etcd-${asked}`, '--', 'etcdctl'],
      ...['--cacert', '/etc/kubernetes/pki/etcd/ca.crt', '--cert', '/etc/kubernetes/pki/etcd/server.crt'],
      ...['--key', '/etc/kubernetes/pki/etcd/server.key', 'member', 'list', '--write-out=json'],
    );
    const { members } = JSON.parse(text) as { readonly members: readonly { readonly name: string }[] };
    return members.map(({ name }) => name).sort();
  };

  /** Diagnostics for a change that did not end, or lost requests: Fairlead's and Kubernetes' events, by time. */
  const explain = async ({ seq, at }: { readonly seq: number; readonly at: number }): Promise<void> => {
    const done = (await log())
      .filter(({ meta }) => meta.seq > seq)
      .map(({ meta, type, data }) => ({
        at: Date.parse(meta.time),
        words: `${type} ${JSON.stringify(data).slice(0, 200)}`,
      }));
    const all = [...done, ...record.since(at)].sort((one, other) => one.at - other.at);
    for (const { at: moment, words } of all)
      say(`    ${(moment / 1_000).toFixed(3)} ${new Date(moment).toISOString()} ${words}`);
    const { balancers, places } = system.local;
    for (const { name } of balancers.all()) {
      const printed = readFileSync(join(places.stateDir, 'balancers', name, 'haproxy.log'), 'utf8')
        .trim()
        .split('\n');
      for (const line of printed.slice(-60)) say(`    haproxy of ${name}: ${line}`);
    }
    const kubeProxies = ['--namespace', 'kube-system', 'logs', '-l', 'k8s-app=kube-proxy', '--prefix', '--tail=15'];
    for (const line of (await kubectl(...kubeProxies).catch(String)).split('\n')) say(`    ${line}`);
  };

  /** A change during requests to the page from these nodes, which are not removed by it. */
  const underTraffic = async (
    what: string,
    askers: readonly string[],
    change: () => Promise<unknown>,
  ): Promise<{ readonly pages: readonly Traffic[]; readonly apiFailures: readonly string[] }> => {
    const [seq, from] = [await lastSeq(), Date.now()];
    await askPageFrom(system, askers, page);
    const failure = await change().then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    const pages = await pagesAsked(system, askers);
    const apiFailures = api.failuresSince(from).map(({ at, words }) => `${new Date(at).toISOString()} ${words}`);
    say(`${what}: ${((Date.now() - from) / 1_000).toFixed(0)} s`);
    for (const [index, { requests, failures, longestGap }] of pages.entries()) {
      say(
        `  page from ${askers[index]}: ${requests} requests, ${failures.length} failed, longest gap ${longestGap.toFixed(2)} s`,
      );
      failures.forEach((line) => say(`    ${line}`));
    }
    say(`  API: ${api.requestsSince(from)} reads, ${apiFailures.length} failed`);
    apiFailures.forEach((words) => say(`    ${words}`));
    const isWhole = apiFailures.length === 0 && pages.every(({ failures }) => failures.length === 0);
    if (failure !== undefined || !isWhole)
      await explain({ seq, at: from }).catch((error: unknown) => say(`    ${String(error)}`));
    if (failure !== undefined) throw failure.error;
    return { pages, apiFailures };
  };
  const expectNoFailure = ({ pages, apiFailures }: Awaited<ReturnType<typeof underTraffic>>): void => {
    for (const { requests, failures } of pages) expect([requests > 20, failures]).toEqual([true, []]);
    expect(apiFailures).toEqual([]);
  };
  /** A change of the declaration, carried out without a failed request. */
  const change = async (what: string, to: Partial<Declared>, askers: readonly string[]): Promise<void> => {
    declared = { ...declared, ...to };
    const traffic = await underTraffic(what, askers, async () => {
      await applyDeclared();
      // The last machine of a rollout is deleted after the rollout; all others are, when the command reports
      // completion.
      if (to.machineType === undefined)
        expect(system.local.hosts.all()).toHaveLength(declared.controlPlanes + declared.workers);
      await settled();
    });
    expectNoFailure(traffic);
  };

  beforeAll(async () => {
    // Another story covers provider lists (`replace`): here a missing host is detected only by its silence.
    system = await startRealSystem({ INFRA_WATCH_INTERVAL_MS: '3600000' });
    fairlead = fairleadOf(system);
    await applyDeclared();
    kubectl = await system.kubectl(CLUSTER);
    const manifest = join(system.environment.dataDir, 'web.json');
    writeFileSync(manifest, JSON.stringify({ ...webManifests, items: budgetedManifests }));
    await kubectl('apply', '-f', manifest);
    await rolledOut(kubectl, 'deployment/web');
    for (const kind of ['daemonset/kube-proxy', 'deployment/coredns'])
      await rolledOut(kubectl, kind, '--namespace=kube-system');
    page = `http://${(await kubectl('get', 'service', 'web', '-o', 'jsonpath={.spec.clusterIP}')).trim()}/`;
    await settled();
    api = probeApi(kubectl);
    record = recordPage(kubectl);
    say('created, and in use');
  }, 20 * MINUTE_MS);

  afterAll(async () => {
    await api?.end();
    record?.end();
    await system?.stop();
  }, 3 * MINUTE_MS);

  it(
    'is unchanged by the same manifest: neither the command line nor the API records an event',
    async () => {
      const requests = async (): Promise<number> =>
        (await log()).filter(({ meta }) => meta.context === 'request').length;
      const before = await requests();
      expect(await applyDeclared()).toContain(`cluster/${CLUSTER} unchanged`);
      expect((await system.call('PUT', `${PATH}/manifest`, manifestOf(declared))).status).toBe(200);
      expect(await requests()).toBe(before);
    },
    STEP_MS,
  );

  it(
    'gets other machines for its pool, one by one, each new one before an old one leaves',
    async () => {
      const before = await namesOf('worker');
      await change('the pool is rolled to nspawn.large', { machineType: 'nspawn.large' }, [await initial()]);
      const now = await nodes('worker');
      expect(now.map(({ spec }) => spec)).toEqual(['nspawn.large', 'nspawn.large']);
      expect(now.filter(({ name }) => before.includes(name))).toEqual([]);
    },
    STEP_MS,
  );

  it(
    'scales its pool from 2 to 4',
    async () => {
      await change('the pool grows to 4', { workers: 4 }, [await initial(), ...(await namesOf('worker'))]);
    },
    STEP_MS,
  );

  it(
    'replaces a worker whose host was destroyed, by its health check',
    async () => {
      const [victim = '', ...others] = await namesOf('worker');
      const before = await lastSeq();
      let [goneAt, noticedAt] = [0, 0];
      const askers = [await initial(), ...others];
      const { pages, apiFailures } = await underTraffic('a worker is destroyed and replaced', askers, async () => {
        goneAt = Date.now();
        await system.local.hosts.delete(victim);
        await eventually(
          'Kubernetes to send no requests to its pods',
          () => nodesOfPage(kubectl),
          (found) => !found.includes(victim),
          2 * MINUTE_MS,
        );
        noticedAt = Date.now();
        const requested = await until('RemediationRequested', before, victim);
        expect(requested.data).toMatchObject({ pool: 'web', action: 'replace', attempt: 1 });
        await until('RemediationSucceeded', requested.meta.seq, victim);
        await until('NodeReplacementReady', requested.meta.seq, victim);
        await settled();
      });
      say(`  Kubernetes sent requests to its pods for ${((noticedAt - goneAt) / 1_000).toFixed(0)} s`);
      expect(await namesOf('worker')).not.toContain(victim);
      // Kubernetes sends requests to the pods of a dead node until it reports the node NotReady, after 40 s. Fairlead
      // itself lost none.
      const end = (noticedAt + ENDPOINTS_FOLLOW_MS) / 1_000;
      for (const { failures } of pages) expect(failures.filter((line) => Number(line.split(' ')[0]) > end)).toEqual([]);
      expect(apiFailures).toEqual([]);
    },
    STEP_MS,
  );

  it(
    'scales its pool from 4 to 1, within the disruption budget of the page',
    async () => {
      await change('the pool shrinks to 1', { workers: 1 }, [await initial()]);
    },
    STEP_MS,
  );

  it(
    'gets two more control planes',
    async () => {
      await change('the control plane grows to 3', { controlPlanes: 3 }, await namesOf('worker'));
    },
    STEP_MS,
  );

  it(
    'replaces its initial control plane: the new one joins first, and another one takes its role',
    async () => {
      const former = await initial();
      const replaced = await underTraffic(
        'the initial control plane is replaced',
        await namesOf('worker'),
        async () => {
          await fairlead('node', 'replace', CLUSTER, former, '--yes', '--wait');
          await settled();
        },
      );
      expectNoFailure(replaced);
      expect(await namesOf('control-plane')).not.toContain(former);
      expect(await initial()).not.toBe(former);
    },
    STEP_MS,
  );

  it(
    'replaces its initial control plane after its host was destroyed, by its health check',
    async () => {
      const victim = await initial();
      const before = await lastSeq();
      const askers = await namesOf('worker');
      const { pages } = await underTraffic('a control plane is destroyed and replaced', askers, async () => {
        controlPlaneGoneAt = Date.now();
        await system.local.hosts.delete(victim);
        const requested = await until('RemediationRequested', before, victim);
        expect(requested.data).toMatchObject({ action: 'replace', attempt: 1 });
        await until('RemediationSucceeded', requested.meta.seq, victim);
        await until('NodeReplacementReady', requested.meta.seq, victim);
        await settled();
      });
      expect(await namesOf('control-plane')).not.toContain(victim);
      for (const { failures } of pages) expect(failures).toEqual([]);
      // Open connections are lost, and new ones fail until the load balancer has noticed. Fairlead itself lost none.
      expect(api.failuresSince(controlPlaneGoneAt + BALANCER_NOTICES_MS)).toEqual([]);
    },
    STEP_MS,
  );

  it(
    'removes two control planes, and ends as it began: the same manifest changes nothing',
    async () => {
      await change('the control plane shrinks to 1', { controlPlanes: 1 }, await namesOf('worker'));
      expect(await applyDeclared()).toContain(`cluster/${CLUSTER} unchanged`);
      await eventually(
        'the state of the cluster to be Running',
        async () => (await system.call<ClusterManifestView>('GET', `${PATH}/manifest`)).body.status?.state,
        (state) => state === 'Running',
        MINUTE_MS,
      );
      const missed = api.failuresSince(0).filter(({ at }) => at < controlPlaneGoneAt);
      expect([missed, api.requestsSince(0) > 1_000]).toEqual([[], true]);
    },
    STEP_MS,
  );

  it(
    'leaves nothing of any of its hosts when it is deleted',
    async () => {
      await api.end();
      record.end();
      await fairlead('cluster', 'delete', CLUSTER, '--yes', '--wait');
      expect(system.local.hosts.all()).toEqual([]);
      const hosts = (await log()).flatMap(({ type, data }) => (type === 'VmCreated' ? [data.machine.name] : []));
      expect(hosts.length).toBeGreaterThan(10);
      const left = await system.leftovers(hosts);
      // The connection's network is shared by all its clusters, and is kept.
      expect(left.filter((what) => !/^(namespace|device|file: .*\/networks\/)/.test(what))).toEqual([]);
    },
    5 * MINUTE_MS,
  );
});
