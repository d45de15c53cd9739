import type { Fact, NodeName, StoredEvent } from '@fairlead/contracts';
import { reconcilerDecider, reconcilerProcess, STATE_FACTS } from '@fairlead/event-sourcing';
import { describe, expect, it } from '@jest/globals';
import { clusterRequested, uid } from '../nodes/nodes.fixtures.js';
import { certificates, type Certificates } from './certificates.decider.js';
import { certificatesReconciler } from './certificates.reconciler.js';

const NODE = 'demo-cp-1' as NodeName;
const NOW = '2026-11-21T10:00:00.000Z';
const inDays = (days: number): string => new Date(Date.parse(NOW) + days * 24 * 3_600_000).toISOString();

const stored = (fact: Fact): StoredEvent => ({ ...fact, meta: { time: NOW } }) as unknown as StoredEvent;
const reported = (ends: Readonly<Record<string, string>>): Fact => ({
  type: 'CertificatesReported',
  data: { uid, node: NODE, certificates: Object.entries(ends).map(([name, expiresAt]) => ({ name, expiresAt })) },
});
const known = (...facts: readonly Fact[]): Certificates =>
  [clusterRequested(), ...facts].map(stored).reduce(certificates.evolve, certificates.initial);
const warned = (state: Certificates) => certificatesReconciler.facts?.(state, NOW) ?? [];

describe('certificates of a control plane', () => {
  const soon = reported({ apiserver: inDays(80), 'etcd-server': inDays(100) });

  it('are warned about 90 days before the first of them expires, with the names of those', () => {
    expect(warned(known(reported({ apiserver: inDays(91) })))).toEqual([]);
    expect(warned(known(soon))).toEqual([
      { type: 'CertificatesExpiring', data: { uid, node: NODE, earliest: inDays(80), names: ['apiserver'] } },
    ]);
  });

  it('are warned about separately from that of the kubelet, which is late 30 days before its expiry', () => {
    expect(warned(known(reported({ apiserver: inDays(100), kubelet: inDays(31) })))).toEqual([]);
    const both = reported({ apiserver: inDays(80), kubelet: inDays(29) });
    const [ofControlPlane, ofKubelet] = warned(known(both));
    expect([ofControlPlane, ofKubelet]).toEqual([
      { type: 'CertificatesExpiring', data: { uid, node: NODE, earliest: inDays(80), names: ['apiserver'] } },
      { type: 'CertificatesExpiring', data: { uid, node: NODE, earliest: inDays(29), names: ['kubelet'] } },
    ]);
    expect(warned(known(both, ofKubelet!))).toEqual([ofControlPlane]);
    expect(warned(known(both, ofControlPlane!, ofKubelet!))).toEqual([]);
    const waiting = known(reported({ apiserver: inDays(100), kubelet: inDays(35) }));
    expect(certificatesReconciler.wakeAt?.(waiting, NOW)).toBe(inDays(5));
  });

  it('are warned about once, and again when renewed ones expire', () => {
    const [expiring] = warned(known(soon));
    if (expiring === undefined) throw new Error('nothing was warned of');
    expect(warned(known(soon, expiring))).toEqual([]);
    expect(warned(known(soon, expiring, reported({ apiserver: inDays(85) })))).toHaveLength(1);
  });

  it('set a timer for the day of their warning, and none afterwards', () => {
    expect(certificatesReconciler.wakeAt?.(known(reported({ apiserver: inDays(91) })), NOW)).toBe(inDays(1));
    const [expiring] = warned(known(soon));
    expect(certificatesReconciler.wakeAt?.(known(soon, ...(expiring === undefined ? [] : [expiring])), NOW)).toBeNull();
  });

  it('are warned about as soon as they are reported if that day has passed, otherwise on that day', () => {
    const process = reconcilerProcess(certificatesReconciler);
    const events = [clusterRequested(), soon].map(stored);
    const state = events.reduce((before, event) => process.evolve(before, event) ?? before, process.initial);
    expect(process.react(state, stored(soon))).toMatchObject([{ kind: 'task', type: STATE_FACTS }]);
    const later = [clusterRequested(), reported({ apiserver: inDays(91) })].map(stored);
    const waiting = later.reduce((before, event) => process.evolve(before, event) ?? before, process.initial);
    expect(process.react(waiting, stored(soon))).toMatchObject([{ kind: 'timer', dueAt: inDays(1) }]);
    expect(process.woken(waiting, { now: inDays(1), eventId: 'e', correlationId: 'c' }).reactions).toMatchObject([
      { type: STATE_FACTS },
    ]);
  });

  it('are forgotten with their cluster', () => {
    const gone: Fact = { type: 'ClusterDeleted', data: { uid } };
    expect(known(soon, gone)).toBe(certificates.initial);
    const { decide } = reconcilerDecider(certificatesReconciler);
    expect(decide({ state: known(soon, gone) }, { type: 'StateFacts', data: { now: NOW } })).toEqual([]);
  });
});
