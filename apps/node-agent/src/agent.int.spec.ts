import {
  AGENT_PATHS,
  AgentConfig,
  agentSyncSubject,
  heartbeatSubject,
  NODE_ANNOTATIONS,
  type Fact,
  type Heartbeat,
  type SoftwareVersions,
  type StoredEvent,
  type StreamId,
} from '@fairlead/contracts';
import { claimsOfCreds } from '@fairlead/embedded/credentials';
import { eventuallyPasses } from '@fairlead/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { KubernetesApi } from '../test/kubernetes.api.js';
import { LogEnvironment } from '../test/log.environment.js';
import { REBOOT_MARK } from './software/first.reboot.js';
import { MemoryHost } from '../test/memory.host.js';
import { startAgent, type RunningAgent } from './agent.js';

const at = (version: string): SoftwareVersions => ({
  containerd: '1.7.24',
  kubelet: version,
  kubeadm: version,
  kubectl: version,
});
/** Not the path at which a kubelet keeps its renewed certificate, so that the agent reports none. */
const CERTIFICATE = '/var/lib/kubelet/pki/client.pem';
const OF_KUBELET = '/var/lib/kubelet/pki/kubelet-client-current.pem';

describe('an agent with a real log', () => {
  let log: LogEnvironment;
  let count = 0;
  const cleanUps: (() => Promise<void>)[] = [];
  const heartbeats = new Map<string, Heartbeat>();
  const beats = new Map<string, number>();

  beforeAll(async () => {
    log = await LogEnvironment.start();
    log.admin.subscribe('hb.>', {
      callback: (_error, message) => {
        heartbeats.set(message.subject, message.json<Heartbeat>());
        beats.set(message.subject, (beats.get(message.subject) ?? 0) + 1);
      },
    });
  }, 60_000);
  afterEach(async () => {
    for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
  });
  afterAll(async () => {
    await log?.stop();
  });

  const heartbeatOf = ({ namespace, cluster, node }: AgentConfig): Heartbeat | undefined =>
    heartbeats.get(heartbeatSubject(namespace, cluster, node));
  const beatsOf = ({ namespace, cluster, node }: AgentConfig): number =>
    beats.get(heartbeatSubject(namespace, cluster, node)) ?? 0;
  const newConfig = (): AgentConfig => {
    count += 1;
    const node = { namespace: 'default', cluster: 'demo', node: `demo-w-${count}-aaaaa` };
    return AgentConfig.parse({
      ...node,
      uid: randomUUID(),
      role: 'worker',
      natsUrls: [log.url],
      heartbeatIntervalMs: 200,
      desired: { revision: 1, software: at('1.34.4'), changesAllowed: true },
      nodeLabels: { 'fairlead.dev/pool': 'w' },
    });
  };
  const start = async (config: AgentConfig, host: MemoryHost): Promise<RunningAgent> => {
    const agent = await startAgent({ config, host, credentials: await log.credentials(config) });
    let stopping: Promise<void> | undefined;
    const once: RunningAgent = { connected: agent.connected, stop: () => (stopping ??= agent.stop()) };
    cleanUps.push(() => once.stop());
    return once;
  };
  const streamOf = ({ namespace, cluster, node }: AgentConfig, prefix = 'node'): StreamId => ({
    namespace,
    cluster,
    context: `${prefix}-${node}`,
  });
  const eventsOf = (config: AgentConfig): Promise<readonly StoredEvent[]> => log.chainOf(streamOf(config));
  const typesOf = async (config: AgentConfig): Promise<string[]> => (await eventsOf(config)).map(({ type }) => type);
  const expectTypes = (config: AgentConfig, ...types: string[]): Promise<void> =>
    eventuallyPasses(async () => expect(await typesOf(config)).toEqual(types));
  const desire = (config: AgentConfig, revision: number, version: string, changesAllowed = true): Promise<string> => {
    const { uid, node } = config;
    const data = { uid, node, revision, software: at(version), changesAllowed };
    return log.append(streamOf(config, 'desired'), { type: 'DesiredVersionsSet', data });
  };
  const join = async (host: MemoryHost, api: KubernetesApi): Promise<void> => {
    host.files.set(CERTIFICATE, await api.clientPem());
    host.files.set('/etc/kubernetes/kubelet.conf', api.kubeconfig(CERTIFICATE));
    host.active.add('kubelet');
  };
  const newApi = async (config: AgentConfig): Promise<KubernetesApi> => {
    const api = await KubernetesApi.create(config.node);
    await api.start();
    cleanUps.push(() => api.stop());
    return api;
  };

  it('states NodeInitialized once its host is complete, and changes nothing at a restart [ORBITER 5]', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    const first = await start(config, host);
    await expectTypes(config, 'NodeInitialized');
    const [initialized] = await eventsOf(config);
    expect(initialized?.data).toMatchObject({ revision: 1, software: at('1.34.4'), bootId: 'boot-1' });
    await first.stop();
    const changes = host.changes.length;
    expect(changes).toBeGreaterThan(0);
    expect(host.changes.filter((line) => line.includes('reboot'))).toEqual([]);
    await start(config, host);
    await eventuallyPasses(() => expect(heartbeatOf(config)?.ready).toBe(true));
    expect(host.changes).toHaveLength(changes);
    expect(await typesOf(config)).toEqual(['NodeInitialized']);
  });

  describe('on a new host whose installation asks for a reboot', () => {
    const asking = (): MemoryHost => {
      const host = new MemoryHost();
      host.files.set(REBOOT_MARK, '*** System restart required ***\n');
      return host;
    };
    const reboots = ({ changes }: MemoryHost): number => changes.filter((line) => line === 'systemctl reboot').length;
    const rebooting = (): AgentConfig => ({ ...newConfig(), profile: { rebootWhenRequired: true } });

    it.each([
      ['that no longer asks', true],
      ['that still asks', false],
    ])(
      'reboots it once after its installation and before NodeInitialized, also one %s afterwards [ORBITER 5]',
      async (_what, isOver) => {
        const config = rebooting();
        const host = asking();
        const first = await start(config, host);
        await eventuallyPasses(() => expect(reboots(host)).toBe(1));
        expect(host.packages.get('kubelet')).toBeDefined();
        expect(await typesOf(config)).toEqual([]);
        await first.stop();
        host.boot = 'boot-2';
        if (isOver) host.files.delete(REBOOT_MARK);
        await start(config, host);
        await expectTypes(config, 'NodeInitialized');
        const [initialized] = await eventsOf(config);
        expect(initialized?.data).toMatchObject({ bootId: 'boot-2', changed: expect.arrayContaining(['reboot']) });
        expect(reboots(host)).toBe(1);
      },
    );

    it('does not reboot it unless its profile says so', async () => {
      const [config, host] = [newConfig(), asking()];
      await start(config, host);
      await expectTypes(config, 'NodeInitialized');
      expect(reboots(host)).toBe(0);
    });

    it('does not reboot a host that has become a node, whatever it asks for later', async () => {
      const [config, host] = [rebooting(), new MemoryHost()];
      await start(config, host);
      await expectTypes(config, 'NodeInitialized');
      host.files.set(REBOOT_MARK, '');
      await desire(config, 2, '1.34.4');
      await expectTypes(config, 'NodeInitialized', 'NodeInitialized');
      expect(reboots(host)).toBe(0);
    });
  });

  it('requests the desired state once per connection, and names it as the cause of what it states at its first start', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    const asked: unknown[] = [];
    const questions = log.admin.subscribe(agentSyncSubject(config), {
      callback: (_error, message) => void asked.push(message.json<{ recover: boolean }>().recover),
    });
    const request = await desire(config, 2, '1.34.5');
    const first = await start(config, host);
    await expectTypes(config, 'NodeInitialized');
    const [initialized] = await eventsOf(config);
    expect(initialized?.data).toMatchObject({ revision: 2, software: at('1.34.5') });
    expect(initialized?.meta.causationId).toBe(request);
    expect(asked).toEqual([true]);
    await first.stop();
    await start(config, host);
    await eventuallyPasses(() => expect(asked).toEqual([true, false]));
    questions.unsubscribe();
  });

  it('renews its credential before it expires, with a key that stays on the host, and keeps working after the old one has expired', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    await log.renewCredentials();
    const lifetimeSeconds = 4;
    const before = await log.credentials(config, lifetimeSeconds);
    const endsAtMs = Date.now() + lifetimeSeconds * 1_000;
    const agent = await startAgent({ config, host, credentials: before });
    cleanUps.push(() => agent.stop());
    await eventuallyPasses(() => expect(host.files.get(AGENT_PATHS.credentials)).toBeDefined());
    const [old, renewed] = [claimsOfCreds(before), claimsOfCreds(host.files.get(AGENT_PATHS.credentials) ?? '')];
    expect([renewed.sub, renewed.name]).toEqual([old.sub, old.name]);
    expect(renewed.exp ?? 0).toBeGreaterThan((old.exp ?? 0) + 1_000);
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, endsAtMs + 1_500 - Date.now())));
    const request = await desire(config, 2, '1.34.5');
    await eventuallyPasses(async () =>
      expect((await eventsOf(config)).at(-1)?.meta).toMatchObject({
        causationId: request,
        actor: `node/${config.node}`,
      }),
    );
  });

  it('performs a change once, phase by phase and across a boot, between its announcement and its readiness [ORBITER 10, ORBITER 5]', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    const api = await newApi(config);
    api.setNode(config.node, true, 'v1.34.4');
    await join(host, api);
    const first = await start(config, host);
    await eventuallyPasses(async () => expect((await typesOf(config)).at(-1)).toBe('NodeReady'));
    const before = host.changes.length;
    const change = {
      id: 'u-0123456789/op-07',
      kubeadm: 'node' as const,
      kubernetes: 'v1.35.4' as never,
      renewCertificates: false,
      reboot: true,
      balancedEndpoint: null,
      stopApiServerFirst: false,
      emulatedVersion: null,
    };
    const { uid, node } = config;
    const data = { uid, node, revision: 2, software: at('1.35.4'), changesAllowed: true, change };
    await log.append(streamOf(config, 'desired'), { type: 'DesiredVersionsSet', data });
    // The host reboots in the middle: its agent ends, and the next one finds another boot ID.
    await eventuallyPasses(() => expect(host.changes).toContain('systemctl reboot'));
    await first.stop();
    host.boot = 'boot-2';
    api.setNode(config.node, true, 'v1.35.4');
    await start(config, host);
    await eventuallyPasses(async () => expect((await typesOf(config)).at(-1)).toBe('NodeReady'));
    const story = (await eventsOf(config))
      .slice(2)
      .map(({ type, data: fact }) =>
        'phase' in fact && 'status' in fact ? `${String(fact.phase)} ${String(fact.status)}` : type,
      );
    expect(story.filter((line) => line !== 'VersionChanged')).toEqual([
      'NodeNotReady',
      'stage started',
      'stage done',
      'kubeadm started',
      'kubeadm done',
      'kubelet started',
      'kubelet done',
      'runtime started',
      'runtime done',
      'reboot started',
      'NodeRebooted',
      'reboot done',
      'NodeInitialized',
      'NodeReady',
    ]);
    const ran = host.changes.slice(before).filter((line) => /^(kubeadm|systemctl re)/.test(line));
    expect(ran).toEqual(['kubeadm upgrade node', 'systemctl restart kubelet', 'systemctl reboot']);
  });

  it('reboots once for a request that arrived while it was away, and not at all for one that is older than its boot [ORBITER 22]', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    const api = await newApi(config);
    api.setNode(config.node, true, 'v1.34.4');
    await join(host, api);
    const first = await start(config, host);
    await eventuallyPasses(async () => expect((await typesOf(config)).at(-1)).toBe('NodeReady'));
    const { uid, node } = config;
    const reboots = (): number => host.changes.filter((line) => line === 'systemctl reboot').length;
    const ask = (revision: number, id: string, since: string, bootId: string): Promise<string> => {
      const change = {
        ...{ id, kubeadm: null, kubernetes: null, renewCertificates: false, reboot: true, balancedEndpoint: null },
        ...{ stopApiServerFirst: false, emulatedVersion: null, unlessBooted: { since, bootId } },
      };
      const data = { uid, node, revision, software: at('1.34.4'), changesAllowed: true, change };
      return log.append(streamOf(config, 'desired'), { type: 'DesiredVersionsSet', data });
    };
    const until = (revision: number): Promise<void> =>
      eventuallyPasses(async () =>
        expect((await eventsOf(config)).at(-1)).toMatchObject({ type: 'NodeReady', data: { revision } }),
      );

    // The agent is away when the request arrives, and ends with the host that it reboots.
    await first.stop();
    await ask(2, 'action-1', '2026-01-01T01:00:00.000Z', 'boot-1');
    const second = await start(config, host);
    await eventuallyPasses(() => expect(reboots()).toBe(1));
    await second.stop();
    host.boot = 'boot-2';
    host.bootTime = new Date('2026-01-01T02:00:00.000Z');
    const third = await start(config, host);
    await until(2);
    expect(reboots()).toBe(1);

    // A request from before that boot, which was not known at the time.
    await ask(3, 'action-2', '2026-01-01T01:30:00.000Z', 'boot-1');
    await until(3);
    expect(reboots()).toBe(1);
    const [confirmed] = (await eventsOf(config)).filter(
      ({ type, data }) =>
        type === 'NodeChangeProgressed' &&
        'change' in data &&
        data.change === 'action-2' &&
        'phase' in data &&
        data.phase === 'reboot',
    );
    expect(confirmed?.data).toMatchObject({ status: 'done', message: 'the host has booted since the request' });

    // A request from after the boot is performed, regardless of the clocks of others.
    await ask(4, 'action-3', '2026-01-01T01:45:00.000Z', 'boot-2');
    await eventuallyPasses(() => expect(reboots()).toBe(2));
    await third.stop();
  });

  it('runs its probes, and reports when one fails and when it recovers', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    const answers = { well: true };
    const agent = await startAgent({
      config,
      host,
      credentials: await log.credentials(config),
      ask: () =>
        Promise.resolve(answers.well ? { kind: 'answered', status: 200 } : { kind: 'silent', message: 'refused' }),
    });
    cleanUps.push(() => agent.stop());
    await expectTypes(config, 'NodeInitialized');
    const probes = [{ name: 'shop', url: 'http://10.0.0.1/', everyMs: 100 }];
    const { uid, node } = config;
    const data = { uid, node, revision: 2, software: at('1.34.4'), changesAllowed: false, probes };
    await log.append(streamOf(config, 'desired'), { type: 'DesiredVersionsSet', data });
    await eventuallyPasses(async () => expect((await typesOf(config)).length).toBe(2));
    answers.well = false;
    await eventuallyPasses(async () => expect((await typesOf(config)).at(-1)).toBe('ProbeFailed'));
    answers.well = true;
    await eventuallyPasses(async () => expect((await typesOf(config)).at(-1)).toBe('ProbeRecovered'));
    expect((await eventsOf(config)).at(-2)?.data).toMatchObject({ probe: 'shop', message: 'refused' });
  });

  it('announces a change before it makes it, and states when it is done and why', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    await start(config, host);
    await expectTypes(config, 'NodeInitialized');
    const before = host.changes.length;
    const inLogAtFirstChange: Promise<string[]>[] = [];
    host.fault = (line) => {
      if (line.startsWith('apt-get') && inLogAtFirstChange.length === 0) inLogAtFirstChange.push(typesOf(config));
      return undefined;
    };
    const request = await desire(config, 2, '1.34.5');
    await expectTypes(config, 'NodeInitialized', 'NodeNotReady', 'VersionChanged', 'NodeInitialized');
    expect(await inLogAtFirstChange[0]).toEqual(['NodeInitialized', 'NodeNotReady']);
    expect(host.changes.slice(before)).toHaveLength(2);
    const events = await eventsOf(config);
    expect(events[1]?.data).toMatchObject({ reason: 'SoftwareChange', revision: 2 });
    expect(events[3]?.data).toMatchObject({
      revision: 2,
      software: at('1.34.5'),
      changed: ['kubelet: 1.34.5', 'kubeadm: 1.34.5', 'kubectl: 1.34.5'],
    });
    expect(events[3]?.meta).toMatchObject({
      causationId: request,
      correlationId: 'request-1',
      actor: `node/${config.node}`,
    });
  });

  it('changes nothing without permission, and states the differences once [ORBITER 12]', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    await start(config, host);
    await expectTypes(config, 'NodeInitialized');
    const before = [...host.changes];
    await desire(config, 2, '1.34.5', false);
    await expectTypes(config, 'NodeInitialized', 'NodeDiverged');
    expect(host.changes).toEqual(before);
    expect((await eventsOf(config))[1]?.data).toMatchObject({
      differences: [
        { item: 'packages', what: 'kubelet', observed: '1.34.4', desired: '1.34.5' },
        { what: 'kubeadm' },
        { what: 'kubectl' },
      ],
    });
    await desire(config, 3, '1.34.5');
    await eventuallyPasses(async () => expect((await typesOf(config)).at(-1)).toBe('NodeInitialized'));
    expect(host.packages.get('kubelet')?.version).toBe('1.34.5-1.1');
  });

  it('states the failed command and its output, and continues when it works again', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    let failures = 0;
    host.fault = (line) => {
      if (!line.startsWith('apt-get install') || failures === 2) return undefined;
      failures += 1;
      return { code: 100, stdout: '', stderr: 'E: Could not get lock /var/lib/dpkg/lock-frontend' };
    };
    await start(config, host);
    await expectTypes(config, 'NodeInitializationFailed', 'NodeInitialized');
    const [failed] = await eventsOf(config);
    expect(failed?.data).toMatchObject({
      item: 'packages',
      command: expect.stringMatching(/^apt-get install -y .* kubelet=1\.34\.4-\* /),
      message: 'exit code 100: E: Could not get lock /var/lib/dpkg/lock-frontend',
      attempt: 1,
    });
  });

  it('names the desired state that it found in the log as the cause of its first fact', async () => {
    const config = newConfig();
    const request = await desire(config, 1, '1.34.4');
    await start(config, new MemoryHost());
    await expectTypes(config, 'NodeInitialized');
    expect((await eventsOf(config))[0]?.meta).toMatchObject({ causationId: request, correlationId: 'request-1' });
  });

  it('ignores a brief stop of a service, and repairs one that stays stopped', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    const agent = await start(config, host);
    await expectTypes(config, 'NodeInitialized');
    await agent.stop();
    host.active.delete('containerd');
    await start(config, host);
    await eventuallyPasses(() => expect(heartbeatOf(config)?.ready).toBe(true));
    expect(await typesOf(config)).toEqual(['NodeInitialized']);
    await expectTypes(config, 'NodeInitialized', 'NodeNotReady', 'NodeInitialized');
    expect((await eventsOf(config))[1]?.data).toMatchObject({
      message: 'changing container-runtime not running to running',
    });
    expect(host.active.has('containerd')).toBe(true);
  });

  it('recovers what it has stated after its local state is lost', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    const first = await start(config, host);
    await expectTypes(config, 'NodeInitialized');
    await first.stop();
    expect(host.files.delete(AGENT_PATHS.state)).toBe(true);
    host.boot = 'boot-2';
    await start(config, host);
    await expectTypes(config, 'NodeInitialized', 'NodeRebooted');
  });

  it('sends no heartbeat after a boot until the boot is in the log, so that no request starts on a node that has rebooted since [ORBITER 22]', async () => {
    const [config, other] = [newConfig(), newConfig()];
    const host = new MemoryHost();
    const first = await start(config, host);
    await expectTypes(config, 'NodeInitialized');
    await first.stop();
    host.boot = 'boot-2';
    const before = beatsOf(config);
    const credentials = await log.credentials(config);
    log.setKnown(config, false);
    const booted = await startAgent({ config, host, credentials });
    cleanUps.push(() => booted.stop());
    await start(other, new MemoryHost());
    await eventuallyPasses(() => expect(beatsOf(other)).toBeGreaterThan(5));
    expect([beatsOf(config) - before, await typesOf(config)]).toEqual([0, ['NodeInitialized']]);
    log.setKnown(config, true);
    await expectTypes(config, 'NodeInitialized', 'NodeRebooted');
    await eventuallyPasses(() => expect(heartbeatOf(config)?.bootId).toBe('boot-2'));
  });

  it('works from its local state while NATS is away, and reports once what happened in the meantime', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    const api = await newApi(config);
    await start(config, host);
    await expectTypes(config, 'NodeInitialized');
    // The log has it slightly before the agent receives the reply.
    await eventuallyPasses(() => expect(JSON.parse(host.files.get(AGENT_PATHS.state)!).outbox).toEqual([]));
    await log.killNats();
    api.setNode(config.node, true, 'v1.34.4');
    await join(host, api);
    await eventuallyPasses(() => expect(api.node?.metadata.annotations[NODE_ANNOTATIONS.ready]).toBe('true'));
    await eventuallyPasses(() => expect(JSON.parse(host.files.get(AGENT_PATHS.state)!).outbox).toHaveLength(1));
    api.setNode(config.node, false, 'v1.34.4');
    await eventuallyPasses(() => expect(JSON.parse(host.files.get(AGENT_PATHS.state)!).outbox).toHaveLength(2));
    await log.startNats();
    await expectTypes(config, 'NodeInitialized', 'NodeReady', 'NodeNotReady');
    // The outbox is emptied after the log has replied.
    await eventuallyPasses(() => expect(JSON.parse(host.files.get(AGENT_PATHS.state)!).outbox).toEqual([]));
  }, 60_000);

  it('works from its local state while both NATS and the API are away [ORBITER 9]', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    const api = await newApi(config);
    api.setNode(config.node, true, 'v1.34.4');
    await join(host, api);
    const first = await start(config, host);
    await expectTypes(config, 'NodeInitialized', 'NodeReady');
    await desire(config, 2, '1.34.5', false);
    await expectTypes(config, 'NodeInitialized', 'NodeReady', 'NodeDiverged');
    await first.stop();
    await log.killNats();
    await api.stop();
    const before = [...host.changes];
    host.active.delete('containerd');
    await start(config, host);
    // The stored revision forbids a repair: the differences are queued until the log is back.
    await eventuallyPasses(() => expect(JSON.parse(host.files.get(AGENT_PATHS.state)!).outbox).toHaveLength(1));
    expect(host.changes).toEqual(before);
    await log.startNats();
    await expectTypes(config, 'NodeInitialized', 'NodeReady', 'NodeDiverged', 'NodeDiverged');
    expect((await eventsOf(config)).at(-1)?.data).toMatchObject({
      revision: 2,
      differences: expect.arrayContaining([expect.objectContaining({ observed: '1.34.4', desired: '1.34.5' })]),
    });
  }, 60_000);

  it('starts and works while NATS is away', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    await log.killNats();
    const starting = start(config, host);
    await starting;
    await eventuallyPasses(() => expect(host.changes.at(-1)).toBe('systemctl enable kubelet'));
    await log.startNats();
    await expectTypes(config, 'NodeInitialized');
  }, 60_000);

  it('states NodeReady as soon as Kubernetes reports it at the desired version, and writes its metadata [ORBITER 9, ORBITER 19]', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    const api = await newApi(config);
    await start(config, host);
    await expectTypes(config, 'NodeInitialized');
    await join(host, api);
    await eventuallyPasses(() => expect(api.requests.length).toBeGreaterThan(0));
    api.setNode(config.node, false, 'v1.34.3');
    await eventuallyPasses(() => expect(api.node?.metadata.labels).toEqual({ 'fairlead.dev/pool': 'w' }));
    expect(api.node?.metadata.annotations).toMatchObject({
      'fairlead.dev/cluster-uid': config.uid,
      'node.fairlead.dev/ready': 'true',
      'node.fairlead.dev/revision': '1',
      'software.fairlead.dev/kubelet.current-version': '1.34.4',
      'software.fairlead.dev/kubelet.desired-version': '1.34.4',
    });
    api.setNode(config.node, true, 'v1.34.3');
    await eventuallyPasses(() => expect(heartbeatOf(config)?.kubernetesReady).toBe(true));
    expect(await typesOf(config)).toEqual(['NodeInitialized']);
    api.setNode(config.node, true, 'v1.34.4');
    await expectTypes(config, 'NodeInitialized', 'NodeReady');
    api.setNode(config.node, false, 'v1.34.4');
    await expectTypes(config, 'NodeInitialized', 'NodeReady', 'NodeNotReady');
    expect((await eventsOf(config))[2]?.data).toMatchObject({
      reason: 'KubernetesNotReady',
      message: 'KubeletNotReady: kubelet says False',
    });
    expect(new Set(api.requests.map((line) => line.split(' ')[0]))).toEqual(new Set([`system:node:${config.node}`]));
  });

  it('finds its Node again after the API was away, and states nothing about that', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    const api = await newApi(config);
    api.setNode(config.node, true, 'v1.34.4');
    await join(host, api);
    await start(config, host);
    await expectTypes(config, 'NodeInitialized', 'NodeReady');
    await api.stop();
    await eventuallyPasses(() => expect(heartbeatOf(config)?.kubernetesReady).toBeNull());
    await api.start();
    await eventuallyPasses(() => expect(heartbeatOf(config)?.kubernetesReady).toBe(true));
    expect(await typesOf(config)).toEqual(['NodeInitialized', 'NodeReady']);
  });

  it('reports when the certificate of its kubelet expires, also on a worker', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    const api = await newApi(config);
    api.setNode(config.node, true, 'v1.34.4');
    await join(host, api);
    host.files.set(OF_KUBELET, await api.clientPem());
    await start(config, host);
    await expectTypes(config, 'CertificatesReported', 'NodeInitialized', 'NodeReady');
    const [reported] = await eventsOf(config);
    expect(reported?.data).toMatchObject({
      certificates: [{ name: 'kubelet', expiresAt: expect.stringMatching(/Z$/u) }],
    });
  });

  it('reports the addresses of its host if it has more than one, and what they are from then on [azimuth 21]', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    const first = '2: eth0    inet 198.18.7.21/24 brd 198.18.7.255 scope global eth0';
    const second = '3: eth1    inet 203.0.113.21/24 scope global eth1';
    const pods = '4: cni0    inet 10.244.0.1/24 scope global cni0';
    host.addresses = [first, second, pods].join('\n');
    const api = await newApi(config);
    api.setNode(config.node, true, 'v1.34.4');
    await join(host, api);
    await start(config, host);
    await expectTypes(config, 'NodeAddressesReported', 'NodeInitialized', 'NodeReady');
    host.addresses = [first, pods].join('\n');
    await desire(config, 2, '1.34.4', false);
    const types = ['NodeAddressesReported', 'NodeInitialized', 'NodeReady', 'NodeAddressesReported', 'NodeReady'];
    await expectTypes(config, ...types);
    const reported = (await eventsOf(config)).filter(({ type }) => type === 'NodeAddressesReported');
    expect(reported.map(({ data }) => 'addresses' in data && data.addresses)).toEqual([
      ['198.18.7.21', '203.0.113.21'],
      ['198.18.7.21'],
    ]);
  });

  it('responds to a revision that changes nothing', async () => {
    const config = newConfig();
    const host = new MemoryHost();
    const api = await newApi(config);
    api.setNode(config.node, true, 'v1.34.4');
    await join(host, api);
    await start(config, host);
    await expectTypes(config, 'NodeInitialized', 'NodeReady');
    await desire(config, 2, '1.34.4', false);
    await expectTypes(config, 'NodeInitialized', 'NodeReady', 'NodeReady');
    expect((await eventsOf(config)).at(-1)?.data).toMatchObject({ revision: 2 } satisfies Partial<
      Fact<'NodeReady'>['data']
    >);
  });
});
