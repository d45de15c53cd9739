import {
  HOST_BASELINE,
  isRefusal,
  ExternalFailure,
  type ClusterUid,
  type Namespace,
  type NodeName,
  type SecretRef,
} from '@fairlead/contracts';
import { NO_HOST_KEYS } from '@fairlead/domain';
import { FoldCache, makeHandle, type Handle } from '@fairlead/event-sourcing/jetstream';
import type { HostScript, HostSession, HostShell } from '@fairlead/service-kit/ssh';
import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { MemoryLog } from '../../../test/memory.log.js';
import type { InfrastructureProvider, MachineGroup } from '../../providers/provider.ports.js';
import { stock, type Stocked } from '../../stock/stock.decider.js';
import { SITE } from '../../stock/stock.fixtures.js';
import { StockLog } from '../../stock/stock.log.effects.js';
import { opensshKeys } from '../ssh-keys/openssh.keys.js';
import { FREE_HOST } from '../../../../../libs/node-scripts/src/steps/look.fixtures.js';
import { sshKind } from './ssh.kind.js';

const SEEDS = Number(process.env['SIM_SEEDS'] ?? 200);
const SEED_FIRST = Number(process.env['SIM_SEED'] ?? 1);
/** Seconds on an idle machine; this allows for a busy one. */
const LIMIT_MS = 600_000;
const HOSTS = 6;
const TRIES_MAX = 200;

const HOST_KEY = `SHA256:${'A'.repeat(43)}`;
const DIGEST = 'a'.repeat(32);
const BASELINE = Object.fromEntries(Object.keys(HOST_BASELINE).map((part) => [part, DIGEST]));
const KEY = opensshKeys.generate('sim').privateKey;
const LIMITS = {
  look: { triesMax: 1, deadlineMs: 1 },
  reset: { triesMax: 1, deadlineMs: 1 },
  boot: { triesMax: 1, deadlineMs: 1 },
  resetsMax: 2,
  freshForMs: 1,
};

/** Random choices from a seed. */
const drawsOf = (seed: number) => {
  const next = seededRandom(seed);
  return { below: (limit: number) => Math.floor(next() * limit), chance: (share: number) => next() < share };
};

/** An inventory with hosts that may be dead, lost calls, crashing replicas, and clusters that use the hosts. */
class World implements HostShell {
  readonly log = new MemoryLog();
  readonly dead = new Set<string>();
  /** The cluster whose traces are on each host. */
  readonly traces = new Map<string, string>();
  readonly violations: string[] = [];
  readonly trace: string[] = [];
  calm = false;
  readonly draw;

  constructor(seed: number) {
    this.draw = drawsOf(seed);
  }

  /** A replica that has just started, with the state in the log. */
  replica(): InfrastructureProvider {
    const trust = { hostKeys: async () => NO_HOST_KEYS, namespaceSince: async () => 0 };
    const world = { stock: new StockLog(this.roughHandle()), trust, shell: this, sshKeys: opensshKeys, limits: LIMITS };
    const hosts = Array.from({ length: HOSTS }, (_, at) => ({
      name: `rack-${at + 1}`,
      address: `198.51.100.${at + 1}`,
    }));
    const provider = sshKind({ ...world, secret: async () => undefined }).open(
      {
        name: SITE,
        provider: 'ssh',
        region: '',
        zone: '',
        settings: { hosts, apiAddress: '198.51.100.200' },
        secretRef: 'gateway.connection.site' as SecretRef,
        registration: 'event-1',
      },
      KEY,
    );
    if (isRefusal(provider)) throw new Error(provider.message);
    return provider;
  }

  async accepts(): Promise<boolean> {
    throw new Error('a provider tries no keys');
  }

  async open({ name }: { readonly name: string }): Promise<HostSession> {
    await this.pause();
    if (this.dead.has(name) || this.lost()) throw this.failure(name, 'no route to host');
    return {
      hostKey: HOST_KEY,
      jumpHostKey: null,
      attempts: 1,
      run: (script: HostScript) => this.run(name, script),
      exists: async () => true,
      release: () => undefined,
    } as unknown as HostSession;
  }

  async close(): Promise<void> {
    // No sessions are open.
  }

  state(): Stocked {
    return this.log.events.reduce((state, event) => stock.evolve(state, event), stock.initial);
  }

  async pause(): Promise<void> {
    for (let turns = this.draw.below(4); turns > 0; turns -= 1) await new Promise((go) => setImmediate(go));
  }

  lost(): boolean {
    return !this.calm && this.draw.chance(0.1);
  }

  private async run(name: string, { name: script, input }: HostScript) {
    await this.pause();
    const result = script.startsWith('look') ? this.look(name) : this.reset(name, (input as { of: string }).of);
    await this.pause();
    if (this.lost()) throw this.failure(name, 'the answer was lost');
    return { stdout: `FAIRLEAD-RESULT ${JSON.stringify(result)}\n`, stderr: '' };
  }

  private look(name: string) {
    const leftovers = this.traces.has(name) ? ['/etc/kubernetes/kubelet.conf'] : [];
    const facts = { ...FREE_HOST, clock: Math.floor(Date.now() / 1_000), leftovers };
    return { cpus: 4, memoryMiB: 8192, facts, baseline: BASELINE };
  }

  private reset(name: string, of: string) {
    const owner = this.traces.get(name);
    if (owner !== undefined && owner !== of) throw this.failure(name, 'this host belongs to another cluster by now');
    const holding = this.state().held.get(name);
    if (owner !== undefined && holding !== undefined && holding.uid !== of)
      this.violations.push(`${name} was reset for ${of} while ${holding.uid} had it`);
    this.trace.push(`reset ${name} of ${of}`);
    this.traces.delete(name);
    return { changed: true, left: [] };
  }

  /** A decision may be lost before it takes effect, or its response after. */
  private roughHandle(): Handle {
    const handle = makeHandle(this.log, new FoldCache(20));
    return async (decider, stream, command, cause) => {
      await this.pause();
      if (this.lost()) throw new Error('crashed before');
      const decided = await handle(decider, stream, command, cause);
      this.check();
      await this.pause();
      if (this.lost()) throw new Error('crashed after');
      return decided;
    };
  }

  /** An address may be released only once no host of its cluster can hold it. */
  private check(): void {
    const [last] = this.log.events.slice(-1);
    if (last?.type !== 'ApiAddressReturned') return;
    const { held, withheld } = this.state();
    const left = [...held.values(), ...withheld.values()].filter(({ uid }) => uid === last.data.uid);
    if (left.length > 0)
      this.violations.push(`${last.data.address} was free while ${left[0]?.host.name} could hold it`);
  }

  private failure(target: string, message: string): ExternalFailure {
    return new ExternalFailure({ operation: 'ssh', target, message });
  }
}

const groupOf = (number: number, count: number): MachineGroup => {
  const cluster = `c${number}`;
  return {
    name: `default.${cluster}.site`,
    namespace: 'default' as Namespace,
    cluster,
    uid: `${number}1111111-1111-4111-8111-111111111111` as ClusterUid,
    image: 'i',
    network: 'n',
    firewall: 'f',
    sshKey: 'k',
    machines: Array.from({ length: count }, (_, at) => ({
      name: `${cluster}-w-${at + 1}` as NodeName,
      spec: 'ssh.any',
      zone: undefined,
      rootDisk: { type: 'default', size: 'default' },
      labels: {},
    })),
  };
};

const signal = new AbortController().signal;

/** A task that is restarted after every crash by another replica, until it fails permanently or succeeds. */
const untilDone = async (
  world: World,
  what: string,
  work: (provider: InfrastructureProvider) => Promise<void>,
): Promise<boolean> => {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    try {
      await work(world.replica());
      return true;
    } catch (error) {
      world.trace.push(`${what}: ${error instanceof Error ? error.message : String(error)}`);
      if (error instanceof ExternalFailure && !error.retryable) return false;
    }
  }
  throw new Error(`${what} is never done`);
};

/** `used`: the cluster leaves traces on its hosts, which it no longer does when it is being deleted. */
const create = (world: World, group: MachineGroup, used = true) =>
  untilDone(world, `create ${group.cluster}`, async (provider) => {
    for await (const answer of provider.ensureMachines(group, signal)) {
      const host = answer.id.split('/')[0] ?? '';
      const owner = world.traces.get(host);
      if (owner !== undefined && owner !== group.uid)
        world.violations.push(`${host} was given to ${group.uid} unclean`);
      const held = world.state().held.get(host);
      if (used && held?.uid === group.uid) world.traces.set(host, group.uid);
    }
  });

const balance = (world: World, group: MachineGroup) =>
  untilDone(world, `balance ${group.cluster}`, async (provider) => {
    const desired = {
      name: group.cluster,
      group,
      kind: 'haproxy',
      targetPort: 6443,
      healthPath: '/',
      targets: [],
    } as const;
    await provider.ensureLoadBalancer(desired, signal);
  });

const remove = (world: World, group: MachineGroup) =>
  untilDone(world, `delete ${group.cluster}`, (provider) => provider.deleteGroup(group, signal));

const twice = async (job: () => Promise<boolean>): Promise<boolean> =>
  (await Promise.all([job(), job()])).some(Boolean);

const life = async (world: World, group: MachineGroup): Promise<void> => {
  const made = await twice(() => create(world, group));
  const has = [...world.state().held.values()].filter(({ uid }) => uid === group.uid).length;
  expect([group.cluster, has]).toEqual([group.cluster, made ? group.machines.length : 0]);
  await balance(world, group);
  // A late creation and a duplicate deletion.
  const late = create(world, group, false);
  await twice(() => remove(world, group));
  await late;
  expect([...world.state().held.values()].filter(({ uid }) => uid === group.uid)).toEqual([]);
};

const story = async (world: World): Promise<void> => {
  for (let host = 1; host <= HOSTS; host += 1) if (world.draw.chance(0.15)) world.dead.add(`rack-${host}`);
  await Promise.all([1, 2, 3].map((number) => life(world, groupOf(number, 1 + world.draw.below(4)))));
  await life(world, groupOf(4, 1 + world.draw.below(HOSTS)));
  world.dead.clear();
  world.calm = true;
  await twice(() => untilDone(world, 'recover', async (provider) => provider.recover?.(signal)));
  const { held, withheld, addresses } = world.state();
  expect([held.size, withheld.size, addresses.size, world.traces.size]).toEqual([0, 0, 0, 0]);
  expect(await create(world, groupOf(5, HOSTS))).toBe(true);
  expect(world.violations).toEqual([]);
};

describe(`over ${SEEDS} seeds of dead hosts, lost calls, duplicate deliveries and crashes`, () => {
  it(
    'no host belongs to two clusters, released hosts are clean or quarantined, and in the end all are free',
    async () => {
      for (let seed = SEED_FIRST; seed < SEED_FIRST + SEEDS; seed += 1) {
        const world = new World(seed);
        try {
          await story(world);
        } catch (error) {
          const said = world.log.events.map(({ type }) => type).join(' ');
          throw new Error(`seed ${seed}\n  ${world.trace.slice(-60).join('\n  ')}\n${said}`, { cause: error });
        }
      }
    },
    LIMIT_MS,
  );
});
