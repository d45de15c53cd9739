import { describe, expect, it } from '@jest/globals';
import { f1Expiring, lateOfKubelets } from './certificates.js';

const NOW = '2026-11-21T10:00:00.000Z';
const in_ = (days: number, name: string) => ({
  name,
  expiresAt: new Date(Date.parse(NOW) + days * 24 * 3_600_000).toISOString(),
});

describe('F1 certificates', () => {
  it('are renewed 90 days before they expire', () =>
    expect(f1Expiring([in_(89, 'apiserver'), in_(91, 'etcd-server')], NOW)).toEqual([in_(89, 'apiserver')]));
  it('of kubelets are excluded: kubelets renew them, and count as late 30 days before expiry', () => {
    const certificates = [in_(31, 'kubelet'), in_(29, 'kubelet'), in_(29, 'apiserver')];
    expect(f1Expiring(certificates, NOW)).toEqual([in_(29, 'apiserver')]);
    expect(lateOfKubelets(certificates, NOW)).toEqual([in_(29, 'kubelet')]);
  });
  it('of CAs are excluded: CAs are rotated', () =>
    expect(f1Expiring([in_(10, 'ca'), in_(10, 'etcd-ca')], NOW)).toEqual([]));
});
