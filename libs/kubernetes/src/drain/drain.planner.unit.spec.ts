import { describe, expect, it } from '@jest/globals';
import type { DrainRule } from '@fairlead/contracts';
import {
  DRAIN_LABEL,
  DRAIN_ORDER,
  leaves,
  leavingOf,
  nextEvictions,
  rulesFor,
  type DrainPod,
} from './drain.planner.js';

const pod = (name: string, more: Partial<DrainPod> = {}): DrainPod => ({
  namespace: 'default',
  name,
  uid: name,
  phase: 'Running',
  deleting: false,
  createdMs: 0,
  toleratesCordon: false,
  finalizers: [],
  mirror: false,
  controller: { kind: 'ReplicaSet', name: 'web' },
  labels: {},
  annotations: {},
  priority: 0,
  claims: [],
  ...more,
});
const next = (pods: readonly DrainPod[], detaching = false, rules: readonly DrainRule[] = []) =>
  nextEvictions(pods, { detaching, rules });
const names = (pods: readonly DrainPod[]): readonly string[] => pods.map(({ name }) => name);

describe('The drain of a node', () => {
  it('evicts all but static pods, DaemonSets’ pods and pods that have ended', () => {
    const staying = [
      pod('static', { mirror: true }),
      pod('daemon', { controller: { kind: 'DaemonSet', name: 'd' } }),
      pod('done', { phase: 'Succeeded' }),
      pod('failed', { phase: 'Failed' }),
    ];
    expect(staying.some(leaves)).toBe(false);
    expect(leaves(pod('bare', { controller: null }))).toBe(true);
  });

  it('evicts group by group: lower orders first, cluster-critical pods last', () => {
    const pods = [
      pod('dns', { priority: 2_000_000_000 }),
      pod('web'),
      pod('early', { annotations: { [DRAIN_ORDER]: '-5' } }),
    ];
    expect(names(next(pods).evict)).toEqual(['early']);
    expect(names(next(pods.slice(0, 2)).evict)).toEqual(['web']);
    expect(names(next([pods[0]!]).evict)).toEqual(['dns']);
  });

  it('delays the next group until the previous one is gone, not only evicted', () => {
    const pods = [pod('dns', { priority: 2_000_000_000 }), pod('web', { deleting: true })];
    expect(next(pods)).toEqual({ evict: [], left: pods, ending: [] });
  });

  it('evicts pods with volumes one by one, the rest all at once', () => {
    const pods = [pod('db-1', { claims: ['a'] }), pod('db-0', { claims: ['b'] }), pod('web-0'), pod('web-1')];
    expect(names(next(pods).evict)).toEqual(['web-0', 'web-1', 'db-0']);
    const going = [pod('db-1', { claims: ['a'] }), pod('db-0', { claims: ['b'], deleting: true })];
    expect(next(going).evict).toEqual([]);
    expect(next([pods[0]!], true).evict).toEqual([]);
    expect(names(next([pods[0]!]).evict)).toEqual(['db-1']);
  });

  it('is complete if no pod is left that must leave', () =>
    expect(next([pod('static', { mirror: true })])).toEqual({ evict: [], left: [], ending: [] }));
});

describe('The rules of a drain', () => {
  const rule = (name: string, behavior: DrainRule['behavior'], more: Partial<DrainRule> = {}): DrainRule => ({
    name,
    behavior,
    ...more,
  });
  const job = pod('job', { labels: { app: 'batch', tier: 'low' } });

  it('apply by first match: namespaces, and all labels [Cluster API 27]', () => {
    const rules = [
      rule('elsewhere', 'Skip', { namespaces: ['other' as never] }),
      rule('high', 'Skip', { labels: { app: 'batch', tier: 'high' } }),
      rule('batch', 'WaitCompleted', { namespaces: ['default' as never], labels: { app: 'batch' }, order: -7 }),
      rule('rest', 'Drain', { order: 3 }),
    ];
    expect(leavingOf(job, rules)).toEqual({ behavior: 'WaitCompleted', order: -7 });
    expect(leavingOf(pod('web'), rules)).toEqual({ behavior: 'Drain', order: 3 });
    expect(leavingOf(pod('web'), rules.slice(0, 3))).toEqual({ behavior: 'Drain', order: 0 });
  });

  it("are overridden by the pod's own label [Cluster API 27]", () => {
    const drained = [rule('all', 'Drain', { order: 3 })];
    const labelled = (value: string) => pod('web', { labels: { [DRAIN_LABEL]: value } });
    expect(leavingOf(labelled('skip'), drained).behavior).toBe('Skip');
    expect(leavingOf(labelled('wait-completed'), drained).behavior).toBe('WaitCompleted');
    expect(leavingOf(labelled('nonsense'), drained).behavior).toBe('Drain');
    expect(leavingOf(pod('web', { annotations: { [DRAIN_ORDER]: '-5' } }), drained).order).toBe(-5);
  });

  it('never evict a pod that cannot leave, such as that of a DaemonSet', () =>
    expect(leavingOf(pod('d', { controller: { kind: 'DaemonSet', name: 'd' } }), [rule('all', 'Drain')]).behavior).toBe(
      'Skip',
    ));

  it("are those for the node's pool", () => {
    const rules = [rule('all', 'Drain'), rule('gpu', 'Skip', { pools: ['gpu'] })];
    expect(rulesFor({ rules }, 'gpu')).toEqual(rules);
    expect(rulesFor({ rules }, 'web')).toEqual([rules[0]]);
    expect(rulesFor({}, 'web')).toEqual([]);
  });

  it('omit skipped pods, and evict no pod whose end is awaited [Cluster API 27]', () => {
    const rules = [rule('batch', 'WaitCompleted', { labels: { app: 'batch' } })];
    const skipped = pod('cache', { labels: { [DRAIN_LABEL]: 'skip' } });
    expect(next([job, skipped, pod('web')], false, rules)).toEqual({
      evict: [pod('web')],
      left: [job, pod('web')],
      ending: [job],
    });
    expect(next([{ ...job, phase: 'Succeeded' }, skipped], false, rules).left).toEqual([]);
  });

  it('delay later pods until those that end by themselves have ended [Cluster API 27]', () => {
    const rules = [rule('batch', 'WaitCompleted', { labels: { app: 'batch' }, order: -1 })];
    expect(next([job, pod('web')], false, rules).evict).toEqual([]);
    expect(names(next([{ ...job, phase: 'Succeeded' }, pod('web')], false, rules).evict)).toEqual(['web']);
  });
});
