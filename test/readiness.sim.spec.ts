import type { Fact, StoredEvent } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { isReady } from '../apps/gateway/src/nodes/nodes.view.js';
import { membershipAfter, type ClusterMembership } from '../apps/gateway/src/lifecycle/membership.js';
import {
  nodesProjection as gatewayNodes,
  readySinceOf,
  type NodeDoc,
} from '../apps/gateway/src/nodes/nodes.projection.js';
import { nodeProgress, nodeView } from '../apps/gateway/src/nodes/nodes.view.js';
import { CREATE, uid } from '../apps/gateway/src/story.fixtures.js';
import { NO_ROLLOUTS, rolloutsAfter, type Rollouts } from '../apps/infra-svc/src/machines/rollouts.js';
import {
  decide,
  evolve,
  NOTHING_REPORTED,
  type Observation,
  type Reported,
} from '../apps/node-agent/src/agent/agent.decider.js';
import { at, difference, seen } from '../apps/node-agent/src/agent/agent.fixtures.js';
import { nodesProjection as upgradeNodes, type NodeRow } from '../apps/upgrade-svc/src/nodes/nodes.projection.js';
import { presence } from '../apps/upgrade-svc/src/presence/presence.decider.js';
import { compare, NO_MEMORY, type ListedNode, type Memory } from '../apps/upgrade-svc/src/presence/presence.planner.js';
import { evolve as remediationAfter } from '../apps/upgrade-svc/src/remediation/remediation.evolve.js';
import { ABSENT, type Remediation } from '../apps/upgrade-svc/src/remediation/remediation.state.js';

const NODE = 'demo-w-1';
const KEY = `default/demo/${NODE}`;
const RUNS = 1_000;
/** Takes seconds on an idle machine; long enough for a loaded one. */
const LIMIT_MS = 300_000;

type Word = 'ready' | 'not-ready' | 'absent';
/**
 * `honest`: the real agent. `blind`: its watch of the Node object shows nothing. `wrong`: it reports its node as Ready,
 * whatever happens.
 */
type Agent = 'honest' | 'blind' | 'wrong';

type Step =
  | { readonly do: 'kubernetes'; readonly word: Word }
  | { readonly do: 'host'; readonly host: Partial<Observation> }
  | { readonly do: 'agent'; readonly agent: Agent }
  | { readonly do: 'heartbeats'; readonly lost: boolean }
  | { readonly do: 'list' | 'outage' | 'restart' };

const stopped = { item: 'kubelet-service', what: 'service', observed: 'not running', desired: 'running' };
const hold = { item: 'packages', what: 'hold of kubelet', observed: 'none', desired: 'held' };
const failure = { item: 'packages', command: 'apt-get update', message: 'no route to host', attempt: 1 };

const hosts = fc.record({
  differences: fc.subarray([stopped, hold, difference]),
  confirmed: fc.boolean(),
  failure: fc.option(fc.constant(failure), { nil: undefined }),
  software: fc.constantFrom('1.34.4', '1.34.5').map(at),
  desired: fc.record({
    revision: fc.integer({ min: 1, max: 3 }),
    software: fc.constant(at('1.34.4')),
    changesAllowed: fc.boolean(),
  }),
});
const steps = fc.oneof<fc.Arbitrary<Step>[]>(
  fc
    .constantFrom('ready' as const, 'not-ready' as const, 'absent' as const)
    .map((word) => ({ do: 'kubernetes', word })),
  hosts.map((host) => ({ do: 'host', host })),
  fc.constantFrom('honest' as const, 'blind' as const, 'wrong' as const).map((agent) => ({ do: 'agent', agent })),
  fc.boolean().map((lost) => ({ do: 'heartbeats', lost })),
  fc.constantFrom('list' as const, 'outage' as const, 'restart' as const).map((what) => ({ do: what })),
);

/** An agent's report depends on its earlier reports. */
const honestSteps = steps.filter((step) => step.do !== 'agent' || step.agent !== 'wrong');

/** One node: Kubernetes, its agent, the list of Nodes, and everything that derives from the log. */
class World {
  private readonly log: StoredEvent[] = [];
  private presence = presence.initial;
  private memory: Memory = NO_MEMORY;
  private reported: Reported = NOTHING_REPORTED;
  private host: Partial<Observation> = {};
  private agent: Agent = 'honest';
  private doc: NodeDoc | undefined;
  private row: NodeRow | undefined;
  private remediation: Remediation = ABSENT;
  private rollouts: Rollouts = NO_ROLLOUTS;
  private present: ClusterMembership | undefined;
  word: Word = 'ready';
  lost = false;

  constructor() {
    for (const fact of CREATE) this.record(fact);
    this.reported = {
      ...NOTHING_REPORTED,
      standing: { status: 'ready', revision: 1 },
      software: at('1.34.4'),
      bootId: 'boot-1',
    };
  }

  private record(fact: Fact): void {
    const event = stored(fact, this.log.length + 1);
    this.log.push(event);
    this.presence = presence.evolve(this.presence, event);
    for (const key of gatewayNodes.keys(event)) if (key === KEY) this.doc = gatewayNodes.evolve(this.doc, event, key);
    for (const key of upgradeNodes.keys(event)) if (key === KEY) this.row = upgradeNodes.evolve(this.row, event, key);
    this.remediation = remediationAfter(this.remediation, event);
    this.rollouts = rolloutsAfter(this.rollouts, event, () => true);
    this.present = membershipAfter(this.present, event);
  }

  take(step: Step): void {
    switch (step.do) {
      case 'kubernetes':
        this.word = step.word;
        break;
      case 'host':
        this.host = step.host;
        break;
      case 'agent':
        this.agent = step.agent;
        break;
      case 'heartbeats':
        if (step.lost !== this.lost) this.lose(step.lost);
        break;
      case 'list':
        this.list();
        break;
      case 'outage':
      case 'restart':
        this.memory = NO_MEMORY;
        break;
    }
    this.agentReports();
  }

  private lose(lost: boolean): void {
    this.lost = lost;
    const data = { uid, node: NODE, ...(lost ? { lastSeenAt: null, limitMs: 40_000 } : { lostForMs: 1 }) };
    this.record({ type: lost ? 'NodeLost' : 'NodeRecovered', data } as unknown as Fact);
  }

  private agentReports(): void {
    if (this.lost) return;
    if (this.agent === 'wrong') {
      const data = { uid, node: NODE, revision: 1, software: at('1.34.4') };
      return this.record({ type: 'NodeReady', data } as unknown as Fact);
    }
    const kubernetes =
      this.agent === 'blind' || this.word === 'absent'
        ? undefined
        : { ready: this.word === 'ready', message: 'm', kubeletVersion: 'v1.34.4' };
    const observation = seen({ ...this.host, kubernetes });
    for (;;) {
      const facts = decide(this.reported, observation);
      if (facts.length === 0) return;
      this.reported = facts.reduce(evolve, this.reported);
      for (const { type, data } of facts) this.record({ type, data: { ...data, uid, node: NODE } } as unknown as Fact);
    }
  }

  list(): void {
    const listed: readonly ListedNode[] =
      this.word === 'absent'
        ? []
        : [
            {
              name: NODE,
              registered: { uid: 'first', atMs: 0 },
              ready: this.word === 'ready',
              message: 'm',
              pressures: [],
              providerId: `lab://${NODE}`,
            },
          ];
    const { providerId, ready } = this.row!;
    const looking = { before: this.memory, nowMs: 0, limitMs: 1 };
    const { confirmed, seen: found, memory } = compare([{ name: NODE, providerId, ready }], listed, looking);
    this.memory = memory;
    const facts = presence.decide(this.presence, { type: 'RecordPresence', data: { uid, ...confirmed, seen: found } });
    for (const fact of facts as readonly Fact[]) this.record(fact);
  }

  /** The readiness of the node that Fairlead shows, and that on which it decides. */
  get shown(): Readonly<Record<string, boolean>> {
    const doc = this.doc!;
    const member = this.remediation.status === 'absent' ? undefined : this.remediation.members[NODE];
    return {
      'node list': nodeView(doc).ready || nodeView(doc).phase === 'Ready',
      'the tree of describe': nodeProgress(doc).state === 'ready',
      'the counters of pools': readySinceOf(doc) !== null,
      conditions: isReady(doc),
      'health checks': member?.unwellSince === null,
      'upgrade-svc': this.row!.ready && !this.row!.lost,
      'rollouts of pools': this.rollouts.ready[NODE] === true && this.rollouts.lost[NODE] !== true,
      selections: this.present?.nodes[NODE]?.ready === true && !this.present.nodes[NODE].lost,
    };
  }

  get isSilent(): boolean {
    return this.lost;
  }

  get isReportedDown(): boolean {
    return this.reported.standing.status !== 'ready';
  }
}

const all = (shown: Readonly<Record<string, boolean>>, is: boolean): readonly string[] =>
  Object.entries(shown).flatMap(([what, ready]) => (ready === is ? [] : [what]));

describe('the readiness of a node in Fairlead', () => {
  it(
    'is never better than in Kubernetes, after at most two lists, for every combination of differences, failures, agents and reports',
    () => {
      fc.assert(
        fc.property(fc.array(steps, { maxLength: 20 }), (course) => {
          const world = new World();
          for (const step of course) world.take(step);
          world.list();
          world.list();
          if (world.word !== 'ready') expect(all(world.shown, false)).toEqual([]);
        }),
        { numRuns: RUNS },
      );
    },
    LIMIT_MS,
  );

  it(
    'is never better immediately if an agent sees its Node object, whatever else differs or fails',
    () => {
      fc.assert(
        fc.property(fc.array(honestSteps, { maxLength: 20 }), hosts, (course, host) => {
          const world = new World();
          for (const step of course) world.take(step);
          world.take({ do: 'heartbeats', lost: false });
          world.take({ do: 'agent', agent: 'honest' });
          world.take({ do: 'host', host });
          world.take({ do: 'kubernetes', word: 'not-ready' });
          if (world.isReportedDown) expect(all(world.shown, false)).toEqual([]);
          else throw new Error('its agent reports it as Ready');
        }),
        { numRuns: RUNS },
      );
    },
    LIMIT_MS,
  );

  it(
    'is Ready again two lists after Kubernetes, without any remaining problem',
    () => {
      fc.assert(
        fc.property(fc.array(steps, { maxLength: 20 }), (course) => {
          const world = new World();
          for (const step of course) world.take(step);
          world.take({ do: 'heartbeats', lost: false });
          world.take({ do: 'kubernetes', word: 'ready' });
          world.take({ do: 'agent', agent: 'honest' });
          // Kubernetes and the host are as desired: the agent that changed its host has finished.
          world.take({ do: 'host', host: {} });
          world.list();
          world.list();
          expect(all(world.shown, true)).toEqual([]);
        }),
        { numRuns: RUNS },
      );
    },
    LIMIT_MS,
  );
});
