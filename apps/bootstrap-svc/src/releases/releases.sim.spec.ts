import {
  isRefusal,
  type Addon,
  type DeclaredSpec,
  type Fact,
  type SecretRef,
  type StoredEvent,
} from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import { cp, requested, UID } from '../bootstrap/bootstrap.fixtures.js';
import { releases, type ReleasesCommand } from './releases.decider.js';
import { ReleasesEffects } from './releases.effects.js';
import type { ReleaseEngine, ReleaseStatus } from './releases.ports.js';
import { ReleaseSources } from './releases.sources.js';
import { releasesReconciler, type ReleaseData } from './releases.reconciler.js';
import { releasesAfter, type Releases } from './releases.state.js';

const NOW = '2026-01-01T00:00:00.000Z';
const WATCH_EVERY_MS = 1_000;
const ROUNDS_MAX = 20;

class Killed extends Error {}

/** A cluster with helm, and a service that is killed at call number `dieAt`, before or after its effect. */
class World {
  readonly events: StoredEvent[] = [];
  /** Revisions of the only release, newest last. */
  revisions: { status: string; values: string }[] = [];
  installs = 0;
  /** The event that set the sealed values. */
  sealedBy = 'first';
  private calls = 0;

  constructor(
    private readonly dieAt: number,
    private readonly isLate: boolean,
  ) {}

  say(...facts: readonly Fact[]): void {
    for (const fact of facts) this.events.push(stored(fact, this.events.length + 1));
  }
  get state(): Releases | undefined {
    return this.events.reduce<Releases | undefined>(releasesAfter, undefined);
  }
  get hasDied(): boolean {
    return this.calls >= this.dieAt;
  }

  private call<Result>(effect: () => Result, interrupted: () => void = () => undefined): Promise<Result> {
    this.calls += 1;
    if (this.calls !== this.dieAt) return Promise.resolve().then(effect);
    if (this.isLate) effect();
    else interrupted();
    return Promise.reject(new Killed());
  }

  private readonly helm: ReleaseEngine = {
    status: () => this.call(() => this.status()),
    differs: (_at, { values }) => this.call(() => this.revisions.at(-1)?.values !== JSON.stringify(values)),
    deploy: (_at, { values }) =>
      this.call(
        () => {
          if (/^pending/u.test(this.revisions.at(-1)?.status ?? ''))
            throw new Error('another operation is in progress');
          this.begin(values, 'deployed');
        },
        () => this.begin(values, this.revisions.length === 0 ? 'pending-install' : 'pending-upgrade'),
      ),
    recover: () =>
      this.call(() => {
        const last = this.revisions.findLast(({ status }) => status === 'deployed' || status === 'superseded');
        if (last === undefined) this.revisions = [];
        else this.revisions = [...this.revisions, { ...last, status: 'deployed' }];
      }),
    uninstall: () => this.call(() => void (this.revisions = [])),
    drift: () => this.call(() => []),
  };

  private begin(values: unknown, status: string): void {
    if (this.revisions.length === 0) this.installs += 1;
    const former = this.revisions.map((one) => (one.status === 'deployed' ? { ...one, status: 'superseded' } : one));
    this.revisions = [...former, { status, values: JSON.stringify(values) }];
  }

  private status(): ReleaseStatus | undefined {
    const last = this.revisions.at(-1);
    return last === undefined ? undefined : { revision: this.revisions.length, status: last.status };
  }

  private readonly effects = new ReleasesEffects(
    { open: async () => ({ administrator: { server: '', ca: '', certificate: '', key: '' } }) } as never,
    { charts: this.helm, manifests: this.helm },
    new ReleaseSources(
      { ofApplication: async () => Buffer.from(''), ofRepository: async () => Buffer.from('') },
      { get: async () => ({ setBy: this.sealedBy, values: { colour: 'sealed' } }) },
      { get: async () => undefined },
    ),
    { addonsEveryMs: WATCH_EVERY_MS },
  );

  private async work(type: string, data: ReleaseData): Promise<void> {
    const record = (command: ReleasesCommand) =>
      this.call(() => {
        const decided = releases.decide(this.state, command);
        if (isRefusal(decided)) throw new Error(`nothing of a release is refused: ${decided.code}`);
        this.say(...decided);
        return this.state;
      });
    const { signal } = new AbortController();
    const requeueAfter = () => ({});
    const task = {
      type,
      data,
      namespace: 'default',
      cluster: 'demo',
      state: this.state,
      signal,
      record,
      requeueAfter,
    } as never;
    if (type === 'InstallRelease') await this.effects.install(task);
    else if (type === 'WatchRelease') await this.effects.watch(task);
    else await this.effects.uninstall(task);
  }

  /** Runs tasks until only checks are left, across restarts of the service. */
  async settle(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const tasks = releasesReconciler.tasks(this.state, NOW);
      for (const { type, data } of tasks)
        await this.work(type, data as ReleaseData).catch((error: unknown) => {
          if (!(error instanceof Killed)) throw error;
        });
      const left = releasesReconciler.tasks(this.state, NOW).filter(({ type }) => type !== 'WatchRelease');
      if (left.length === 0) return;
    }
    throw new Error('it never ends');
  }
}

const declaring = (...addons: readonly Addon[]): Fact =>
  ({
    type: 'ClusterSpecChanged',
    data: { uid: UID, spec: { version: 'v1.34.4', addons } as unknown as DeclaredSpec },
  }) as unknown as Fact;
const paint = (colour: string): Addon => ({
  name: 'paint' as Addon['name'],
  application: 'paint' as Addon['application'],
  version: '1.0.0',
  values: { colour },
});
const start: readonly Fact[] = [
  requested(1, 1),
  {
    type: 'ControlPlaneInitialized',
    data: {
      uid: UID,
      node: cp(1),
      endpoint: 'https://198.18.7.1:6443',
      kubeconfigRef: 'r' as SecretRef,
      caCertHash: 'c',
    },
  },
  { type: 'ClusterReady', data: { uid: UID } } as Fact,
];

const of = (world: World, type: StoredEvent['type']): number => world.events.filter((one) => one.type === type).length;

/** Install, change, drift and removal, with one kill at each call of the service. */
describe('the release of an add-on with kills', () => {
  const STEPS = Array.from({ length: 40 }, (_, index) => index + 1);

  it.each(STEPS.flatMap((at) => [[at, false] as const, [at, true] as const]))(
    'a kill at call %i (after its effect: %s) results in one release, and each outcome is recorded once',
    async (at, isLate) => {
      const world = new World(at, isLate);
      world.say(...start, declaring(paint('red')));
      await world.settle();
      expect(world.revisions.at(-1)).toEqual({ status: 'deployed', values: '{"colour":"red"}' });
      expect(of(world, 'AddonDeployed')).toBe(1);

      world.say(declaring(paint('green')));
      await world.settle();
      expect(world.revisions.at(-1)).toEqual({ status: 'deployed', values: '{"colour":"green"}' });
      expect(of(world, 'AddonDeployed')).toBe(2);

      world.revisions = [];
      await world.settle();
      await world.settle();
      expect(world.revisions.at(-1)).toEqual({ status: 'deployed', values: '{"colour":"green"}' });
      expect(world.state?.releases['paint']?.drift).toEqual([]);

      world.say(declaring());
      await world.settle();
      expect([world.revisions, world.state?.releases]).toEqual([[], {}]);
      expect(of(world, 'AddonUninstalled')).toBe(1);
    },
  );

  it('covers every call: a kill after the last one changes nothing', async () => {
    const world = new World(STEPS.length, false);
    world.say(...start, declaring(paint('red')));
    await world.settle();
    world.say(declaring(paint('green')));
    await world.settle();
    world.revisions = [];
    await world.settle();
    world.say(declaring());
    await world.settle();
    expect(world.hasDied).toBe(false);
  });

  it.each(STEPS.slice(0, 16).flatMap((at) => [[at, false] as const, [at, true] as const]))(
    'a kill at call %i (after its effect: %s) applies sealed values that were set again',
    async (at, isLate) => {
      const world = new World(at, isLate);
      const { values: _declared, ...others } = paint('red');
      world.say(...start, declaring({ ...others, valuesFrom: [{ secretName: 'colours' as never }] }));
      await world.settle();
      world.sealedBy = 'second';
      await world.settle();
      await world.settle();
      expect(world.state?.releases['paint']?.deployed?.secrets).toEqual({ colours: 'second' });
      expect(JSON.stringify(world.events)).not.toContain('sealed');
      const before = world.events.length;
      await world.settle();
      expect(world.events).toHaveLength(before);
    },
  );
});
