import { describe, expect, it } from '@jest/globals';
import type { BudgetView, PodView } from '../kubernetes/kubernetes.ports.js';
import { budgetFacts } from './node.facts.js';

const pods = (count: number, namespace: string): readonly PodView[] =>
  Array.from({ length: count }, (_, at) => ({ namespace, name: `p-${at}` }) as PodView);

const budgets = (count: number, namespace: string): readonly BudgetView[] =>
  Array.from({ length: count }, (_, at) => ({
    namespace,
    name: `b-${at}`,
    disruptionsAllowed: 0,
    covers: ({ name }) => name === `p-${at}`,
  }));

describe('budgetFacts', () => {
  it('returns the pods covered by each budget', () =>
    expect(budgetFacts(budgets(2, 'a'), [...pods(2, 'a'), ...pods(2, 'b')])).toEqual([
      { name: 'a/b-0', disruptionsAllowed: 0, pods: ['a/p-0'] },
      { name: 'a/b-1', disruptionsAllowed: 0, pods: ['a/p-1'] },
    ]));

  it('compares a budget only with pods of its namespace, so that large clusters stay within the limit', () =>
    expect(budgetFacts(budgets(5_000, 'a'), [...pods(100, 'a'), ...pods(50_000, 'b')])).toHaveLength(5_000));

  it('throws ExternalFailure if a hostile API server lists more budgets and pods than the limit allows', () =>
    expect(() => budgetFacts(budgets(5_000, 'a'), pods(5_000, 'a'))).toThrow('more than 1000000 comparisons'));
});
