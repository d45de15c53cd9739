import type { ClusterUid, Fact, NodeName, StoredEvent } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { seededRandom } from '@fairlead/testing';
import type { Command, Decider } from '../decider.js';
import { OnTask } from '../jetstream/decorators.js';
import type { TaskContext } from '../jetstream/task.runner.js';
import { MemoryStore } from '../memory.store.js';
import type { Reconciler } from '../reconciler.js';
import type { Passage, Program, Troubles } from '../simulation.js';
import { Simulation } from './simulation.js';
import { CALM } from './troubles.js';

const ROUGH: Troubles = { lostRequest: 0.1, lostAnswer: 0.1, crash: 0.05, twin: 0.3 };
const SEEDS = 20;
const UID = '00000000-0000-4000-8000-000000000000' as ClusterUid;
const NODES = ['w-1', 'w-2', 'w-3'] as unknown as readonly NodeName[];

type Join = Command<'Join', NodeName>;
type Open = readonly NodeName[];

const joins: Decider<Open, Join, Fact> = {
  initial: [],
  reads: 'cluster',
  evolve: (open, { type, data }) => {
    if (type === 'ClusterRequested') return NODES;
    return type === 'WorkerJoined' ? open.filter((node) => node !== data.node) : open;
  },
  decide: (open, { data: node }) => (open.includes(node) ? [{ type: 'WorkerJoined', data: { uid: UID, node } }] : []),
};

const joining: Reconciler<Open, Join> = {
  name: 'joining',
  version: 1,
  context: 'bootstrap',
  decider: joins,
  generation: () => '1',
  tasks: (open) => open.map((node) => ({ type: 'Join', key: `Join/${node}`, reason: 'it is open', data: { node } })),
  failed: () => [],
};

/** The host keeps the effects, so a second join does nothing. */
class Joining {
  constructor(
    private readonly pass: Passage,
    private readonly joined: Set<string>,
    private readonly isIdempotent: boolean,
  ) {}

  @OnTask('Join', { attemptsMax: 100 })
  async join(task: TaskContext<Open, Join, { readonly node: NodeName }>): Promise<void> {
    const { node } = task.data;
    await this.pass('join', () => {
      if (this.joined.has(node) && !this.isIdempotent) throw new Error(`${node} joins twice`);
      this.joined.add(node);
    });
    await task.record({ type: 'Join', data: node });
  }
}

interface Service {
  readonly controllers?: 'none';
  readonly replicas?: number;
  readonly isIdempotent?: boolean;
}

class World extends Simulation {
  readonly log = new MemoryStore();
  readonly joined = new Set<string>();
  readonly program: Program;

  constructor(seed: number, troubles: Troubles, { controllers, replicas = 1, isIdempotent = true }: Service = {}) {
    super(seededRandom(seed), troubles);
    this.program = this.start({
      ...{ name: 'sim', log: this.log, projections: [], reconcilers: [joining], replicas },
      start: (life) => ({
        handle: this.decisions(life, this.log),
        controllers: controllers === 'none' ? [] : [new Joining(this.passage(life), this.joined, isIdempotent)],
      }),
    });
  }

  async request(): Promise<void> {
    const stream = { namespace: 'default', cluster: 'demo', context: 'request' };
    const fact = { type: 'ClusterRequested', data: { uid: UID } } as unknown as Fact;
    const cause = { actor: 'user/sim', correlationId: 'c', causationId: 'c' };
    await this.log.append(stream, { seq: 0, streamVersion: 0, hash: '' }, [fact], cause);
    await this.run();
  }

  get recorded(): readonly StoredEvent['type'][] {
    return this.log.events.map(({ type }) => type);
  }
}

const ONCE_EACH = ['ClusterRequested', 'WorkerJoined', 'WorkerJoined', 'WorkerJoined'];

describe('a service in a simulation', () => {
  it.each([1, 2])(
    'with %i replicas does each task once, whatever is lost, delivered twice or killed',
    async (replicas) => {
      const seen: string[] = [];
      for (let seed = 1; seed <= SEEDS; seed += 1) {
        const world = new World(seed, ROUGH, { replicas });
        await world.request();
        expect([seed, world.recorded]).toEqual([seed, ONCE_EACH]);
        expect(Object.fromEntries(world.program.database.documents)).toEqual(
          Object.fromEntries(await world.program.folded()),
        );
        seen.push(...world.trace);
      }
      expect(seen).toContain('kill sim');
      expect(seen).toContain('failed Join: the answer was lost');
      expect(seen).toContain('failed Join: the request was lost');
    },
  );

  it('repeats the same run with the same seed', async () => {
    const [first, second] = [new World(3, ROUGH), new World(3, ROUGH)];
    await Promise.all([first.request(), second.request()]);
    expect(first.trace).toEqual(second.trace);
  });

  it('stops at a task that no controller handles', async () => {
    await expect(new World(1, CALM, { controllers: 'none' }).request()).rejects.toThrow('no handler for Join');
  });

  it('detects a handler that is not idempotent', async () => {
    const courses = Array.from({ length: SEEDS }, (_, seed) => new World(seed, ROUGH, { isIdempotent: false }));
    const ends = await Promise.allSettled(courses.map((world) => world.request()));
    expect(ends.map(({ status }) => status)).toContain('rejected');
  });
});
