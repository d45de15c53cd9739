import { ApiException } from '@kubernetes/client-node';
import { expect, it } from '@jest/globals';
import { QUESTIONS } from '../../../../../test/recorded/questions.js';
import { recorded, RECORDED_VERSIONS } from '../../../../../test/recorded/recorded.js';
import { budgetWords } from './node.drain.js';

it.each(RECORDED_VERSIONS)(
  'what an API server of %s says of a budget that forbids an eviction is told',
  (kubernetes) => {
    const { message } = new ApiException(429, 'Unknown API Status Code!', recorded(kubernetes, QUESTIONS.eviction), {});
    expect(budgetWords(message)).toBe("Cannot evict pod as it would violate the pod's disruption budget.");
  },
);

it('a refusal in other words is told by its budget, or as one of a budget', () => {
  expect(budgetWords('the disruption budget web needs 3 healthy pods')).toBe('disruption budget web');
  expect(budgetWords('no')).toBe('a disruption budget');
});
