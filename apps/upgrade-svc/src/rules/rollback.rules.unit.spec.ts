import { describe, expect, it } from '@jest/globals';
import { cp, modelOf, versionsOf, w } from '../../test/model.js';
import {
  g1NextActions,
  g2NoWayBackOverEtcd,
  g3MayRollBack,
  g5EmulationEndsFirst,
  g5MayEmulate,
  g5NoWayBackBetweenSteps,
} from './rollback.rules.js';

describe('G rollback', () => {
  const versions = versionsOf(modelOf(3, 2, '1.34.4'));
  const rules = (findings: readonly { readonly rule: string }[]) => findings.map(({ rule }) => rule);

  it('G1 a failed operation is retried first; a worker may be skipped or rolled back, a control plane may not', () => {
    const verbs = (role: 'worker' | 'control-plane') =>
      g1NextActions([w(1)], role).map((action) => /upgrade (\w+)/.exec(action)?.[1]);
    expect(verbs('worker')).toEqual(['retry', 'skip', 'rollback', 'abort']);
    expect(verbs('control-plane')).toEqual(['retry', 'abort']);
  });
  it('G2 no rollback across a minor of etcd', () => {
    expect(rules(g2NoWayBackOverEtcd(['v1.34.4', 'v1.33.13']))).toEqual(['G2']);
    expect(g2NoWayBackOverEtcd(['v1.35.4', 'v1.34.4'])).toEqual([]);
  });
  it('G3 a failed worker may be rolled back if the skew allows it', () => {
    const node = { name: w(1), role: 'worker' as const, failed: true };
    expect(g3MayRollBack(node, { kubelet: '1.33.13' }, versions)).toEqual([]);
    expect(rules(g3MayRollBack(node, { kubelet: '1.30.14' }, versions))).toContain('G3');
    expect(rules(g3MayRollBack({ ...node, failed: false }, { kubelet: '1.33.13' }, versions))).toEqual(['G3']);
    const controlPlane = { name: cp(1), role: 'control-plane' as const, failed: true };
    expect(rules(g3MayRollBack(controlPlane, { kubelet: '1.33.13' }, versions))).toEqual(['G3']);
  });
  it('G5 binaries emulate the previous minor, one minor at a time and not before 1.33', () => {
    expect(g5MayEmulate('1.33.13', '1.34.4')).toEqual([]);
    expect(rules(g5MayEmulate('1.33.13', '1.35.4'))).toEqual(['G5']);
    expect(rules(g5MayEmulate('1.31.1', '1.32.1'))).toEqual(['G5']);
  });
  it('G5 no rollback between the two steps', () => {
    expect(rules(g5NoWayBackBetweenSteps(['1.34'], ['v1.35.4', 'v1.34.4']))).toEqual(['G5']);
    // Without an emulation, A1 applies.
    expect(g5NoWayBackBetweenSteps([], ['v1.35.4', 'v1.34.4'])).toEqual([]);
  });
  it('G5 an emulation ends before a newer minor', () => {
    expect(rules(g5EmulationEndsFirst(['1.34'], 'v1.35.4', 'v1.36.3'))).toEqual(['G5']);
    expect(g5EmulationEndsFirst(['1.34'], 'v1.35.4', 'v1.35.4')).toEqual([]);
    expect(g5EmulationEndsFirst([], 'v1.35.4', 'v1.36.3')).toEqual([]);
  });
});
