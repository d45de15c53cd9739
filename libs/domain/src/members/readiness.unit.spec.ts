import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { readinessAfter, READINESS_EVENTS, type Readiness } from './readiness.js';

describe('the readiness of a node', () => {
  const after = (...events: readonly (typeof READINESS_EVENTS)[number][]): boolean =>
    events.reduce<Readiness>(readinessAfter, { ready: false }).ready;

  it('is that of its report while the list of Nodes does not contradict it', () => {
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

  it('is derived from `ready` in states from before contradictions were recorded', () => {
    expect(readinessAfter({ ready: true }, 'NodeReadinessContradicted')).toMatchObject({ ready: false });
    expect(readinessAfter({ ready: true }, 'NodeReadinessConfirmed')).toMatchObject({ ready: true });
  });

  it('is never better than its worst source, in any order of events', () => {
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
