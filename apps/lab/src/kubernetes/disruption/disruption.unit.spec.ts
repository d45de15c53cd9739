import { describe, expect, it } from '@jest/globals';
import type { Pod, PodDisruptionBudget } from '../objects/core.types.js';
import { aPod } from '../scheduling/scheduling.fixtures.js';
import { planBudget } from './disruption.planner.js';
import { BUDGET_REFUSAL, planEviction } from './eviction.planner.js';

const labels = { app: 'web' };
const nowMs = Date.UTC(2026, 0, 1);
const now = '2026-01-01T00:00:00Z';

const aBudget = (spec: PodDisruptionBudget['spec']): PodDisruptionBudget => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: {
    name: 'web',
    namespace: 'default',
    uid: 'b',
    resourceVersion: '1',
    creationTimestamp: now,
    generation: 1,
  },
  spec: { selector: { matchLabels: labels }, ...spec },
});

const running = (count: number, ready = count): readonly Pod[] =>
  Array.from({ length: count }, (_, index) =>
    aPod(`p${index}`, { labels, owner: 'rs', phase: 'Running', ready: index < ready }),
  );

/** The budget after its controller has set the status. */
const observed = (
  budget: PodDisruptionBudget,
  pods: readonly Pod[],
  scale: number | undefined = 3,
): PodDisruptionBudget => {
  const [operation] = planBudget({ budget, pods, scaleOf: () => scale, nowMs });
  if (operation?.do !== 'replace') throw new Error('the budget has no status');
  return operation.object as PodDisruptionBudget;
};

describe('A disruption budget', () => {
  it.each([
    [{ minAvailable: 2 }, 3, 3, 1],
    [{ minAvailable: 3 }, 3, 3, 0],
    [{ minAvailable: '50%' }, 3, 3, 1],
    [{ maxUnavailable: 1 }, 3, 3, 1],
    [{ maxUnavailable: 1 }, 3, 2, 0],
    [{ maxUnavailable: '34%' }, 3, 3, 2],
    [{ maxUnavailable: 1 }, 2, 2, 0],
    [{ minAvailable: 2 }, 3, 1, 0],
  ])('%p with %p pods, %p of them healthy, of three desired, allows %p', (spec, pods, healthy, allowed) => {
    expect(observed(aBudget(spec), running(pods, healthy)).status?.disruptionsAllowed).toBe(allowed);
  });

  it('does not count pods that are already being deleted as healthy', () => {
    const pods = [...running(2), aPod('going', { labels, owner: 'rs', phase: 'Running', ready: true, deleted: true })];

    expect(observed(aBudget({ minAvailable: 2 }), pods).status?.currentHealthy).toBe(2);
  });
});

describe('An eviction', () => {
  const pods = running(3);
  const victim = pods[0] as Pod;

  it('is allowed if no budget selects the pod', () => {
    expect(planEviction(victim, [], now)).toEqual({ verdict: 'evict' });
  });

  it('reduces the allowed disruptions, so that a second one is refused with the message on which clients retry', () => {
    const budget = observed(aBudget({ minAvailable: 2 }), pods);
    const first = planEviction(victim, [budget], now);
    if (first.verdict !== 'spend') throw new Error(`the first eviction was not allowed: ${first.verdict}`);
    const second = planEviction(pods[1] as Pod, [first.budget], now);

    expect(first.budget.status?.disruptedPods).toEqual({ p0: now });
    expect(second).toEqual({
      verdict: 'refuse',
      message: BUDGET_REFUSAL,
      cause: 'The disruption budget web needs 2 healthy pods and has 3 currently',
      retryAfterSeconds: 0,
    });
  });

  it('is refused until the budget is observed', () => {
    expect(planEviction(victim, [aBudget({ minAvailable: 1 })], now)).toMatchObject({
      verdict: 'refuse',
      retryAfterSeconds: 10,
    });
  });

  it('is refused if two budgets select the pod', () => {
    const budget = observed(aBudget({ minAvailable: 1 }), pods);

    expect(
      planEviction(victim, [budget, { ...budget, metadata: { ...budget.metadata, name: 'other' } }], now).verdict,
    ).toBe('unsupported');
  });

  it('of a pod that does not run or is being deleted ignores budgets', () => {
    const budget = observed(aBudget({ minAvailable: 3 }), pods);

    expect(planEviction(aPod('new', { labels }), [budget], now)).toEqual({ verdict: 'evict' });
    expect(planEviction(aPod('going', { labels, phase: 'Running', deleted: true }), [budget], now)).toEqual({
      verdict: 'evict',
    });
  });

  it('of an unhealthy pod is allowed while enough others are healthy', () => {
    const sick = aPod('sick', { labels, owner: 'rs', phase: 'Running' });
    const enough = observed(aBudget({ minAvailable: 3 }), [...pods, sick]);
    const tooFew = observed(aBudget({ minAvailable: 4 }), [...pods, sick]);

    expect(planEviction(sick, [enough], now)).toEqual({ verdict: 'evict' });
    expect(planEviction(sick, [tooFew], now).verdict).toBe('refuse');
    expect(
      planEviction(sick, [{ ...tooFew, spec: { ...tooFew.spec, unhealthyPodEvictionPolicy: 'AlwaysAllow' } }], now),
    ).toEqual({ verdict: 'evict' });
  });
});
