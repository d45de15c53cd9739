import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { nodeLogs } from '@fairlead/api-client';
import type { EventType, StoredEvent } from '@fairlead/contracts';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fairleadOf, type Fairlead } from './fairlead.js';
import { eventually, nodesOf, rolledOut, type Kubectl } from './kubectl.js';
import { joinNetwork, type Outsider } from './outsider.js';
import { scan, scanAll } from './port.scan.js';
import { CONNECTION, startRealSystem, VERSION, type RealSystem } from './real.system.js';
import { askPageFromOutside, type Asking } from './traffic.js';
import { addressesOfPods, nodesOfPage, talks, webManifests } from './workload.js';

const MINUTE_MS = 60_000;
const STEP_MS = 10 * MINUTE_MS;
/** All ports of four addresses are scanned three times. */
const SCANS_MS = 35 * MINUTE_MS;

const answersOf = (asking: Asking): Promise<number> => Promise.resolve(asking.now().goodAt.length);
const CLUSTER = 'day-two';
const NODE_PORT = 30_080;
/** From the ten lowest addresses of the hosts' network, which are never assigned to hosts. */
const [ADDRESS, CLIENT, STRANGER] = ['198.18.64.5', '198.18.64.6', '198.18.64.7'] as const;
const PAGE = `http://${ADDRESS}/`;
/** Until haproxy has removed a node that does not answer: three checks, a second apart, of at most two. */
const HEALTH_NOTICES_MS = 10_000;
const LOGS = ['--no-pager', '-u', 'fairlead-addresses-keepalived', '-u', 'fairlead-addresses-haproxy'];
const ONCE_MORE_MS = 30_000;
const FIREWALL = { nodePorts: [`${CLIENT}/32`] };
/** Open ports of nodes without a firewall: SSH, etcd, the API server, kubelets, kube-proxy's health, the service. */
const KNOWN_PORTS = [22, 2379, 2380, 6443, 10_250, 10_256, NODE_PORT];
/** Those, and that of the virtual address. */
const OPEN_PORTS = [...KNOWN_PORTS, 80];
/** A client's timeout for a response. */
const PATIENCE_S = 5;
/** From the failure of an address's holder until another one answers there. */
const FAILOVER_MAX_S = 15;

const pool = { replicas: 2, connection: CONNECTION, machineType: 'nspawn.large' };
const manifestOf = (spec: object) => ({
  apiVersion: 'fairlead.dev/v1alpha1',
  kind: 'Cluster',
  metadata: { name: CLUSTER },
  spec: {
    version: VERSION,
    serviceType: 'single',
    controlPlane: { ...pool, replicas: 1 },
    pools: [{ name: 'web', ...pool }],
    ...spec,
  },
});

const virtualAddresses = [
  {
    name: 'web',
    address: ADDRESS,
    holders: ['web'],
    transports: [
      {
        name: 'http',
        frontendPort: 80,
        backendPort: NODE_PORT,
        backends: ['web'],
        healthCheck: { protocol: 'http', path: '/', interval: '1s' },
        allow: [`${CLIENT}/32`],
      },
    ],
  },
];

/**
 * With externalTrafficPolicy Local, a node port answers only for the node's own pods, so that its health is that of its
 * pods.
 */
const nodePort = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web-outside' },
  spec: {
    type: 'NodePort',
    externalTrafficPolicy: 'Local',
    selector: { app: 'web' },
    ports: [{ port: 80, targetPort: 8080, nodePort: NODE_PORT }],
  },
};

describe('a cluster on own hosts in daily operation', () => {
  let system: RealSystem;
  let fairlead: Fairlead;
  let kubectl: Kubectl;
  let client: Outsider;
  let stranger: Outsider;
  const begunAt = Date.now();

  const say = (text: string): void =>
    void process.stdout.write(`${((Date.now() - begunAt) / 1_000).toFixed(0).padStart(4)} s  ${text}\n`);
  const log = (): Promise<readonly StoredEvent[]> => system.events(CLUSTER);
  const lastSeq = async (): Promise<number> => (await log()).at(-1)?.meta.seq ?? 0;
  const until = async <T extends EventType>(type: T, after: number, node: string): Promise<StoredEvent<T>> => {
    const isIt = (event: StoredEvent): boolean =>
      event.type === type && event.meta.seq > after && 'node' in event.data && event.data.node === node;
    return (await system.until(CLUSTER, isIt, STEP_MS)) as StoredEvent<T>;
  };
  const hosts = (): readonly { readonly name: string; readonly address: string; readonly boots: number }[] =>
    system.local.hosts.all();
  const workers = (): readonly string[] => hosts().flatMap(({ name }) => (name.includes('-w-') ? [name] : []));
  const addresses = (): readonly string[] => hosts().map(({ address }) => address);
  const bootsOf = (host: string): number => system.local.hosts.find(host)?.boots ?? 0;

  const allReady = (): Promise<unknown> =>
    eventually(
      'three Ready nodes',
      () => nodesOf(kubectl),
      (nodes) => nodes.length === 3 && nodes.every(({ ready }) => ready),
      5 * MINUTE_MS,
    );
  const podsOn = (nodes: number, pods: number): Promise<unknown> =>
    eventually(
      `${pods} pods of the page on ${nodes} nodes`,
      () => nodesOfPage(kubectl),
      (found) => found.length === pods && new Set(found).size === nodes,
      3 * MINUTE_MS,
    );
  /** After a drain, all pods are on one node: Kubernetes does not move running pods. */
  const spread = async (): Promise<void> => {
    await kubectl('scale', 'deployment/web', '--replicas=1');
    await podsOn(1, 1);
    await kubectl('scale', 'deployment/web', '--replicas=4');
    await podsOn(2, 4);
  };
  /** The addresses that pods on each worker, and the API, cannot reach. */
  const unreached = async (): Promise<readonly string[]> => {
    const pods = await addressesOfPods(kubectl);
    expect(new Set(pods.map(({ node }) => node))).toEqual(new Set(workers()));
    return (await Promise.all(pods.map(({ name }) => talks(kubectl, name, pods)))).flat();
  };
  /** Hosts that have the virtual address; a host without power has none. */
  const holders = async (): Promise<readonly string[]> => {
    const shown = await Promise.all(
      workers().map(async (host) => [host, await system.onHost(host, 'ip', '-o', 'address').catch(() => '')] as const),
    );
    return shown.flatMap(([host, text]) => (text.includes(` ${ADDRESS}/`) ? [host] : []));
  };
  const page = async (from: Outsider, url = PAGE): Promise<string> => {
    const { stdout, stderr } = await from.run(['curl', '--silent', '--show-error', '--max-time', '3', url]);
    return stdout.trim() || stderr.trim();
  };
  const isPage = (text: string): boolean => text.startsWith('web-');

  beforeAll(async () => {
    system = await startRealSystem();
    fairlead = fairleadOf(system);
    await fairlead.apply(manifestOf({}));
    kubectl = await system.kubectl(CLUSTER);
    const file = join(system.environment.dataDir, 'web.json');
    writeFileSync(file, JSON.stringify({ ...webManifests, items: [...webManifests.items, nodePort] }));
    await kubectl('apply', '-f', file);
    await rolledOut(kubectl, 'deployment/web');
    await allReady();
    const [network] = system.local.networks.all();
    if (network === undefined) throw new Error('hosts have no network');
    client = await joinNetwork(network, CLIENT);
    stranger = await joinNetwork(network, STRANGER);
    say('created, and in use');
  }, 20 * MINUTE_MS);

  afterAll(async () => {
    await client?.remove();
    await stranger?.remove();
    await system?.stop();
  }, 3 * MINUTE_MS);

  it(
    'has a virtual address for a service, which only permitted clients reach',
    async () => {
      await fairlead.apply(manifestOf({ virtualAddresses }));
      await eventually('the page at the address', () => page(client), isPage, 2 * MINUTE_MS);
      expect(await holders()).toHaveLength(1);
      const refused = await page(stranger);
      say(`a client that is not allowed: ${refused}`);
      expect(isPage(refused)).toBe(false);
      // The stranger is in the network: it reaches what is not behind the address.
      expect(isPage(await page(stranger, `http://${addresses()[1]}:${NODE_PORT}/`))).toBe(true);
    },
    STEP_MS,
  );

  it(
    'sends clients of the address only to nodes whose pods answer',
    async () => {
      await kubectl('scale', 'deployment/web', '--replicas=1');
      await eventually(
        'one pod',
        () => nodesOfPage(kubectl),
        (nodes) => nodes.length === 1,
        MINUTE_MS,
      );
      await sleep(HEALTH_NOTICES_MS);
      const asking = askPageFromOutside(client, PAGE);
      await eventually(
        'answers',
        () => answersOf(asking),
        (count) => count > 40,
        MINUTE_MS,
      );
      const { requests, failures } = await asking.end();
      say(`one node of two has a pod: ${requests} requests, ${failures.length} failed`);
      expect([requests > 20, failures]).toEqual([true, []]);
    },
    STEP_MS,
  );

  it.each(['Local', 'Cluster'])(
    `recovers the address within ${FAILOVER_MAX_S} s after its holder lost power, with half of the pods of the service (externalTrafficPolicy: %s)`,
    async (externalTrafficPolicy) => {
      await kubectl('patch', 'service', 'web-outside', '--patch', JSON.stringify({ spec: { externalTrafficPolicy } }));
      await kubectl('scale', 'deployment/web', '--replicas=4');
      await podsOn(2, 4);
      await sleep(HEALTH_NOTICES_MS);
      const [holder = ''] = await holders();
      const asking = askPageFromOutside(client, PAGE, PATIENCE_S);
      await eventually(
        'answers before the loss',
        () => answersOf(asking),
        (count) => count > 10,
        MINUTE_MS,
      );
      const lostAt = Date.now() / 1_000;
      await system.local.hosts.powerCut(holder);
      // Until Kubernetes reports the node NotReady, it sends connections to pods there.
      await podsOn(1, 2);
      const noticedAt = Date.now() / 1_000;
      const answeredAgain = (): Promise<number> =>
        Promise.resolve(asking.now().goodAt.filter((at) => at > noticedAt + 1).length);
      await eventually('answers of the other node', answeredAgain, (count) => count > 20, MINUTE_MS);
      const { requests, failures, longestGap } = await asking.end();
      const now = await holders();
      const late = failures.filter((line) => Number(line.split(' ')[0]) > lostAt + FAILOVER_MAX_S);
      say(`the holder lost its power: ${requests} requests, ${failures.length} failed, gap ${longestGap.toFixed(2)} s`);
      say(
        `  Kubernetes noticed after ${(noticedAt - lostAt).toFixed(0)} s; ${late.length} failed later than the address`,
      );
      if (longestGap >= FAILOVER_MAX_S) {
        failures.forEach((line) => say(`    ${line}`));
        for (const host of now) say(await system.onHost(host, 'journalctl', '-o', 'short-unix', ...LOGS).catch(String));
      }
      expect([now.length, now.includes(holder)]).toEqual([1, false]);
      expect(longestGap).toBeLessThan(FAILOVER_MAX_S);
      await system.local.hosts.start(holder);
      await allReady();
      await podsOn(2, 4);
      // The address is not moved: a returning node does not take it from its holder.
      expect(await holders()).toEqual(now);
    },
    STEP_MS,
  );

  it(
    'hands the address over when its holder is drained and rebooted on request',
    async () => {
      await kubectl('scale', 'deployment/web', '--replicas=4');
      await podsOn(2, 4);
      const [holder = ''] = await holders();
      const [before, boots] = [await lastSeq(), bootsOf(holder)];
      const asking = askPageFromOutside(client, PAGE, PATIENCE_S);
      await eventually(
        'answers before the reboot',
        () => answersOf(asking),
        (count) => count > 10,
        MINUTE_MS,
      );
      const rebooting = fairlead('node', 'reboot', CLUSTER, holder, '--yes', '--wait');
      await until('NodeActionDrained', before, holder);
      // A short drain does not wait until another node has the address: the node's shutdown hands it over at the
      // latest.
      const drained = await holders();
      await rebooting;
      const { requests, failures, longestGap } = await asking.end();
      say(`the holder was rebooted: ${requests} requests, ${failures.length} failed, gap ${longestGap.toFixed(2)} s`);
      say(`  when it was drained, the address was ${drained.includes(holder) ? 'still there' : 'on another node'}`);
      const after = await holders();
      expect([after.length, after.includes(holder)]).toEqual([1, false]);
      expect(bootsOf(holder)).toBe(boots + 1);
      expect(longestGap).toBeLessThan(FAILOVER_MAX_S);
      await allReady();
    },
    STEP_MS,
  );

  it(
    'follows the log of a unit, and records the start and the end in the audit',
    async () => {
      const [host = ''] = workers();
      const before = await lastSeq();
      const gone = new AbortController();
      const of = { namespace: 'default', cluster: CLUSTER, node: host };
      const query = { unit: 'fairlead-agent', lines: 3 };
      const stream = nodeLogs({ baseUrl: system.server, token: system.token, of, query, signal: gone.signal });
      const first = await stream.next();
      const linesOf = (text: string): number => text.trimEnd().split('\n').length;
      expect('text' in first.value! && linesOf(first.value.text)).toBe(3);
      const restartedAt = Date.now();
      await system.onHost(host, 'systemctl', 'restart', 'fairlead-agent');
      const next = await stream.next();
      const text = next.value !== undefined && 'text' in next.value ? next.value.text : '';
      say(`a new line after ${((Date.now() - restartedAt) / 1_000).toFixed(1)} s: ${text.split('\n')[0]}`);
      expect(text).toContain('fairlead-agent');
      gone.abort();
      expect((await until('NodeLogsFollowEnded', before, host)).data).toMatchObject({ reason: 'reader-gone' });
      const words = (await log()).filter(({ type, meta }) => meta.seq > before && /^NodeLogs|^NodeExec/.test(type));
      expect(words.map(({ type }) => type)).toEqual(['NodeLogsFollowRequested', 'NodeLogsFollowEnded']);
    },
    STEP_MS,
  );

  it(
    'refuses undeclared traffic from outside, while its nodes and pods reach each other',
    async () => {
      await spread();
      const before = await scanAll(stranger, [...addresses(), ADDRESS], OPEN_PORTS);
      say(`open to a stranger without a firewall: ${JSON.stringify(before)}`);
      for (const address of addresses()) expect(before[address]).toEqual(expect.arrayContaining([22, 10_250]));
      expect(new Set(Object.values(before).flat())).toEqual(new Set(OPEN_PORTS));
      const seq = await lastSeq();
      await fairlead.apply(manifestOf({ virtualAddresses, firewall: FIREWALL }));
      for (const { name } of hosts()) await until('NodeNetworkApplied', seq, name);
      const after = await scanAll(stranger, [...addresses(), ADDRESS], OPEN_PORTS);
      say(`open to a stranger with a firewall: ${JSON.stringify(after)}`);
      expect(after).toEqual({});
      const open = await scanAll(client, [...addresses(), ADDRESS], OPEN_PORTS);
      say(`open to a client that is allowed: ${JSON.stringify(open)}`);
      const nodePorts = hosts().filter(({ name }) => workers().includes(name));
      expect(open[ADDRESS]).toEqual(expect.arrayContaining([80]));
      for (const { address } of nodePorts) expect(open[address]).toEqual([NODE_PORT]);
      expect(isPage(await page(client))).toBe(true);
      expect(await unreached()).toEqual([]);
      await allReady();
    },
    SCANS_MS,
  );

  it(
    'reverts a firewall change automatically that cuts off its agents, and continues as before',
    async () => {
      const rules = (host: string): Promise<string> => system.onHost(host, 'nft', 'list', 'table', 'inet', 'fairlead');
      const [before, seq, from] = [await Promise.all(workers().map(rules)), await lastSeq(), Date.now()];
      const egress = [{ name: 'elsewhere', ports: [443], to: ['192.0.2.0/24'] }];
      await fairlead
        .apply(manifestOf({ virtualAddresses, firewall: { ...FIREWALL, egress } }))
        .catch((error: unknown) => say(`apply ended: ${String(error)}`));
      for (const { name } of hosts()) {
        const { data } = await until('NodeNetworkFailed', seq, name);
        expect(data.failures).toMatchObject([{ part: 'firewall', reverted: true }]);
        say(`${name}: ${data.failures[0]?.message} (after ${((Date.now() - from) / 1_000).toFixed(0)} s)`);
      }
      expect(await Promise.all(workers().map(rules))).toEqual(before);
      expect(isPage(await page(client))).toBe(true);
      expect(await scan(stranger, addresses(), KNOWN_PORTS)).toEqual({});
      const again = await lastSeq();
      await fairlead.apply(manifestOf({ virtualAddresses, firewall: FIREWALL }));
      for (const { name } of hosts()) await until('NodeNetworkApplied', again, name);
    },
    STEP_MS,
  );

  it(
    'reboots a node exactly once whose agent was unreachable when an operator requested it',
    async () => {
      const [host = ''] = workers();
      const [before, boots] = [await lastSeq(), bootsOf(host)];
      await system.onHost(host, 'systemctl', 'stop', 'fairlead-agent');
      await until('NodeLost', before, host);
      await fairlead('node', 'reboot', CLUSTER, host, '--reason', 'new kernel', '--yes');
      expect((await until('NodeActionPostponed', before, host)).data).toMatchObject({ reason: 'AgentAway' });
      expect(bootsOf(host)).toBe(boots);
      await system.onHost(host, 'systemctl', 'start', 'fairlead-agent');
      await until('NodeActionSucceeded', before, host);
      await allReady();
      expect(bootsOf(host)).toBe(boots + 1);
      // Neither a restarted agent nor a rebooted host repeats it.
      await system.onHost(host, 'systemctl', 'restart', 'fairlead-agent');
      await sleep(ONCE_MORE_MS);
      expect(bootsOf(host)).toBe(boots + 1);
    },
    STEP_MS,
  );

  it(
    'does not reboot a node that has booted since an operator requested it',
    async () => {
      const [, host = ''] = workers();
      const [before, boots] = [await lastSeq(), bootsOf(host)];
      await system.onHost(host, 'systemctl', 'stop', 'fairlead-agent');
      await until('NodeLost', before, host);
      await fairlead('node', 'reboot', CLUSTER, host, '--yes');
      await system.local.hosts.powerCut(host);
      await system.local.hosts.start(host);
      expect((await until('NodeActionVoided', before, host)).data).toMatchObject({ reason: 'BootedSince' });
      await allReady();
      await sleep(ONCE_MORE_MS);
      expect(bootsOf(host)).toBe(boots + 1);
    },
    STEP_MS,
  );

  it(
    'runs a command on a node, once, and records user, command and exit code, but not its output',
    async () => {
      const [host = ''] = workers();
      const before = await lastSeq();
      const command = ['sh', '-c', 'hostname; echo $((6 * 7000))'];
      expect((await fairlead('node', 'exec', CLUSTER, host, '--', ...command)).trim()).toBe(`${host}\n42000`);
      const asked = await until('NodeExecRequested', before, host);
      expect([asked.meta.actor, asked.data.command]).toEqual([expect.stringMatching(/^user\/local/), command]);
      expect((await until('NodeExecFinished', before, host)).data).toMatchObject({ exitCode: 0 });
      const audit = await fairlead('audit', 'show', CLUSTER);
      const entry = audit.split('\n').find((line) => line.trim().startsWith(`${asked.meta.seq} `));
      expect([entry?.includes('user/local'), entry?.includes(host)]).toEqual([true, true]);
      expect(audit).not.toContain('42000');
      await fairlead('audit', 'verify', CLUSTER);
    },
    STEP_MS,
  );
});
