import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { readinessAfter, READINESS_EVENTS, type Readiness } from './readiness.js';

describe('the readiness of a node', () => {
  const after = (...events: readonly (typeof READINESS_EVENTS)[number][]): boolean =>
    events.reduce<Readiness>(readinessAfter, { ready: false }).ready;

  it('is that of its report while the list of Nodes says nothing else', () => {
    expect([after('NodeReady'), after('NodeReady', 'NodeNotReady')]).toEqual([true, false]);
  });

  it('is not restored by another report: only a list ends a contradiction', () => {
    expect(after('NodeReady', 'NodeReadinessContradicted', 'NodeReady')).toBe(false);
    expect(after('NodeReady', 'NodeReadinessContradicted', 'NodeReadinessConfirmed')).toBe(true);
    expect(after('NodeReady', 'NodeReadinessContradicted', 'NodeNotReady', 'NodeReadinessConfirmed')).toBe(false);
    expect([after('NodeReady', 'NodeMissing'), after('NodeReady', 'NodeMissing', 'NodeReturned')]).toEqual([
      false,
      true,
    ]);
  });

  it('of a state from before contradictions were recorded follows from its `ready`', () => {
    expect(readinessAfter({ ready: true }, 'NodeReadinessContradicted')).toMatchObject({ ready: false });
    expect(readinessAfter({ ready: true }, 'NodeReadinessConfirmed')).toMatchObject({ ready: true });
  });

  it('is never better than any of the words that it follows from, in whatever order they come', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...READINESS_EVENTS)), (events) => {
        const last = (...of: readonly string[]): string | undefined => events.findLast((event) => of.includes(event));
        const isBad = [
          last('NodeReady', 'NodeNotReady') !== 'NodeReady',
          last('NodeReadinessContradicted', 'NodeReadinessConfirmed') === 'NodeReadinessContradicted',
          last('NodeMissing', 'NodeReturned') === 'NodeMissing',
        ];
        expect(after(...events)).toBe(!isBad.includes(true));
      }),
    );
  });
});
