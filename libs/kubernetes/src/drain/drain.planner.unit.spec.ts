import { describe, expect, it } from '@jest/globals';
import { DRAIN_ORDER, leaves, nextEvictions, type DrainPod } from './drain.planner.js';

const pod = (name: string, more: Partial<DrainPod> = {}): DrainPod => ({
  namespace: 'default',
  name,
  uid: name,
  phase: 'Running',
  deleting: false,
  mirror: false,
  controller: { kind: 'ReplicaSet', name: 'web' },
  annotations: {},
  priority: 0,
  claims: [],
  ...more,
});
const names = (pods: readonly DrainPod[]): readonly string[] => pods.map(({ name }) => name);

describe('A node is emptied', () => {
  it('of all but static pods, DaemonSets’ pods and pods that have ended', () => {
    const staying = [
      pod('static', { mirror: true }),
      pod('daemon', { controller: { kind: 'DaemonSet', name: 'd' } }),
      pod('done', { phase: 'Succeeded' }),
      pod('failed', { phase: 'Failed' }),
    ];
    expect(staying.some(leaves)).toBe(false);
    expect(leaves(pod('bare', { controller: null }))).toBe(true);
  });

  it('group by group: lower orders first, what is critical for the cluster last', () => {
    const pods = [
      pod('dns', { priority: 2_000_000_000 }),
      pod('web'),
      pod('early', { annotations: { [DRAIN_ORDER]: '-5' } }),
    ];
    expect(names(nextEvictions(pods, false).evict)).toEqual(['early']);
    expect(names(nextEvictions(pods.slice(0, 2), false).evict)).toEqual(['web']);
    expect(names(nextEvictions([pods[0]!], false).evict)).toEqual(['dns']);
  });

  it('with the next group waiting until the one before is gone, not only told to go', () => {
    const pods = [pod('dns', { priority: 2_000_000_000 }), pod('web', { deleting: true })];
    expect(nextEvictions(pods, false)).toEqual({ evict: [], left: pods });
  });

  it('of pods with volumes one after the other, of the rest all at once', () => {
    const pods = [pod('db-1', { claims: ['a'] }), pod('db-0', { claims: ['b'] }), pod('web-0'), pod('web-1')];
    expect(names(nextEvictions(pods, false).evict)).toEqual(['web-0', 'web-1', 'db-0']);
    const going = [pod('db-1', { claims: ['a'] }), pod('db-0', { claims: ['b'], deleting: true })];
    expect(nextEvictions(going, false).evict).toEqual([]);
    expect(nextEvictions([pods[0]!], true).evict).toEqual([]);
    expect(names(nextEvictions([pods[0]!], false).evict)).toEqual(['db-1']);
  });

  it('when nothing that must leave is left', () =>
    expect(nextEvictions([pod('static', { mirror: true })], false)).toEqual({ evict: [], left: [] }));
});
