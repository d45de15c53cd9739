import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { evolve, NOTHING_REPORTED, type DesiredState, type Observation } from './agent.decider.js';
import { type AgentFact } from '../node/agent.facts.js';
import { type Difference } from '../node/difference.js';
import { at, sayAll, seen } from './agent.fixtures.js';
import { plan } from './agent.planner.js';

const SEEDS = 500;
const STEPS = 120;
const VERSIONS = ['1.34.3', '1.34.4', '1.34.5'];

/**
 * A host and its cluster that change at random, an agent that observes, states and acts, and a log that is sometimes
 * away.
 */
const run = (seed: number): { readonly story: readonly string[]; readonly acts: number } => {
  const random = seededRandom(seed);
  const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)]!;
  const host = { version: '0', swapOn: true, boot: 1 };
  let desired: DesiredState = {
    revision: 1,
    software: at('1.34.4'),
    changesAllowed: true,
    changesAllowedUntil: 'NodeReady',
  };
  let kubernetes: Observation['kubernetes'];
  let reported = NOTHING_REPORTED;
  let acts = 0;
  const outbox: AgentFact[] = [];
  const log: AgentFact[] = [];
  const story: string[] = [];

  const world: readonly (() => void)[] = [
    () =>
      (desired = {
        revision: desired.revision + 1,
        software: at(pick(VERSIONS)),
        changesAllowed: random() < 0.7,
        ...(random() < 0.2 ? { changesAllowedUntil: 'NodeReady' as const } : {}),
      }),
    () => (kubernetes = { ready: random() < 0.7, message: 'm', kubeletVersion: `v${host.version}` }),
    () => (kubernetes = undefined),
    () => (host.swapOn = true),
    () => (host.boot += 1),
    () => (host.version = random() < 0.3 ? pick(VERSIONS) : host.version),
    () => log.push(...outbox.splice(0)),
    () => undefined,
  ];
  const differences = (): Difference[] => [
    ...(host.swapOn ? [{ item: 'swap', what: 'swap', observed: 'on', desired: 'off' }] : []),
    ...(host.version === desired.software['kubelet']
      ? []
      : [{ item: 'packages', what: 'kubelet', observed: host.version, desired: desired.software['kubelet']! }]),
  ];

  for (let count = 0; count < STEPS; count += 1) {
    pick(world)();
    const observation = seen({
      desired,
      differences: differences(),
      software: at(host.version),
      bootId: `boot-${host.boot}`,
      kubernetes,
    });
    const reachedBefore = reported.standing.status === 'not-ready' ? reported.standing.revision : undefined;
    const more = sayAll(reported, observation);
    reported = more.reported;
    outbox.push(...more.facts);
    story.push(
      `${JSON.stringify({ desired, host, kubernetes })} says ${more.facts.map(({ type }) => type).join() || '-'}`,
    );
    for (const fact of more.facts) {
      const isAsDesired = host.version === desired.software['kubelet'] && !host.swapOn;
      // A node that was down only in Kubernetes and is back has reached the same revision as before.
      const isHonest = (to: number): boolean =>
        kubernetes?.ready === true && (isAsDesired || (fact === more.facts[0] && to === reachedBefore));
      if (fact.type === 'NodeReady' && !isHonest(fact.data.revision))
        throw new Error(`seed ${seed}: NodeReady of a node that is not\n${story.join('\n')}`);
      if (fact.type === 'NodeInitialized' && differences().length > 0)
        throw new Error(`seed ${seed}: NodeInitialized too early\n${story.join('\n')}`);
    }
    const step = plan(reported, observation, { announced: outbox.length === 0, retryDue: true });
    if (step.do !== 'ensure') continue;
    acts += 1;
    story.push('acts');
    const inLog = log.reduce(evolve, NOTHING_REPORTED).standing.status;
    const hasEnded = desired.changesAllowedUntil === 'NodeReady' && (inLog === 'ready' || inLog === 'not-ready');
    if (!desired.changesAllowed || hasEnded)
      throw new Error(`seed ${seed}: acts without permission\n${story.join('\n')}`);
    // The log must show that the node is down or was never up.
    if (inLog !== 'changing' && inLog !== 'new') throw new Error(`seed ${seed}: acts unannounced\n${story.join('\n')}`);
    host.swapOn = false;
    // A crash in the middle: the packages are left to the next turn.
    if (random() < 0.7) host.version = desired.software['kubelet']!;
  }
  return { story, acts };
};

describe('under random changes of a host, its cluster and the log', () => {
  it(`an agent acts only with permission and after an announcement, and never states Ready for a node that is not (${SEEDS} seeds)`, () => {
    let acts = 0;
    for (let seed = 1; seed <= SEEDS; seed += 1) acts += run(seed).acts;
    expect(acts).toBeGreaterThan(SEEDS * 5);
  });
});
