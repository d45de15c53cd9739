import { isRefusal, RENEW_BEFORE_MS, type Fact, type NodeName, type StoredEvent } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { clusterRequested, uid } from '../nodes/nodes.fixtures.js';
import { certificates, type Certificates } from './certificates.decider.js';
import { certificatesProcess } from './certificates.process.js';

const NODE = 'demo-cp-1' as NodeName;
const NOW = '2026-11-21T10:00:00.000Z';
const inDays = (days: number): string => new Date(Date.parse(NOW) + days * 24 * 3_600_000).toISOString();
const daysBefore = (end: string): string => new Date(Date.parse(end) - RENEW_BEFORE_MS).toISOString();

const stored = (fact: Fact): StoredEvent => ({ ...fact, meta: { time: NOW } }) as unknown as StoredEvent;
const reported = (ends: Readonly<Record<string, string>>): Fact => ({
  type: 'CertificatesReported',
  data: { uid, node: NODE, certificates: Object.entries(ends).map(([name, expiresAt]) => ({ name, expiresAt })) },
});
const known = (...facts: readonly Fact[]): Certificates =>
  [clusterRequested(), ...facts].map(stored).reduce(certificates.evolve, certificates.initial);
const told = (state: Certificates): readonly Fact[] => {
  const decided = certificates.decide(state, { type: 'LookAtCertificates', data: { uid, node: NODE, now: NOW } });
  if (isRefusal(decided)) throw new Error(decided.message);
  return decided;
};

describe('certificates of a control plane', () => {
  const soon = reported({ apiserver: inDays(80), 'etcd-server': inDays(100) });

  it('are told of 90 days before the first of them ends, with the names of those that do', () => {
    expect(told(known(reported({ apiserver: inDays(91) })))).toEqual([]);
    expect(told(known(soon))).toEqual([
      { type: 'CertificatesExpiring', data: { uid, node: NODE, earliest: inDays(80), names: ['apiserver'] } },
    ]);
  });

  it('are told of once, and anew when renewed ones end', () => {
    const [expiring] = told(known(soon));
    if (expiring === undefined) throw new Error('nothing was told');
    expect(told(known(soon, expiring))).toEqual([]);
    expect(told(known(soon, expiring, reported({ apiserver: inDays(85) })))).toHaveLength(1);
  });

  it('have a timer that commits with what was reported, and none when nothing is left to tell', () => {
    const react = (...facts: readonly Fact[]) =>
      certificatesProcess.react(known(...facts), stored(facts.at(-1) ?? soon));
    expect(react(soon)).toMatchObject([
      { kind: 'timer', key: `certificates/${NODE}`, dueAt: daysBefore(inDays(80)), data: { node: NODE } },
    ]);
    const [expiring] = told(known(soon));
    expect(react(...(expiring === undefined ? [] : [expiring]), soon)).toMatchObject([{ kind: 'cancel-timer' }]);
    const due = certificatesProcess.due?.(known(soon), {
      key: `certificates/${NODE}`,
      dueAt: NOW,
      data: { node: NODE },
    });
    expect(due).toMatchObject([{ kind: 'job', type: 'LookAtCertificates', data: { uid, node: NODE } }]);
  });
});
