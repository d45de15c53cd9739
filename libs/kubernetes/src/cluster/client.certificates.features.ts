import { OPERATORS_GROUP } from '@fairlead/contracts';
import { expect, it } from '@jest/globals';
import { newClientRequest } from '../client.request.js';
import type { ClusterApi } from '../cluster.ports.js';
import { sealedAdministrator, signedCertificate } from '../kubeconfig.js';

export interface SignerUnderTest {
  readonly cluster: Pick<ClusterApi, 'signClientCertificate'>;
  /** The administrator's kubeconfig. */
  readonly kubeconfig: string;
}

/** Client certificates that a cluster signs for operators (ADR 31), and those that it refuses. */
export const certificateFeatures = (context: () => SignerUnderTest): void => {
  const signal = new AbortController().signal;

  it('signs a client certificate for the user, key and lifetime of a request, and keeps no request', async () => {
    const { cluster, kubeconfig } = context();
    const { key, csr } = await newClientRequest('fairlead:token:a11ce', OPERATORS_GROUP);
    const askedAtMs = Date.now();
    const request = { name: 'fairlead-features', csr, ttlSeconds: 600 };
    const answer = await cluster.signClientCertificate(request, signal);
    const { ca } = sealedAdministrator(kubeconfig, 'demo');
    const expected = { ca, key, user: 'fairlead:token:a11ce', group: OPERATORS_GROUP };
    const expiresBy = new Date(askedAtMs + 660_000);
    const { expiresAt } = signedCertificate(answer, 'demo', { ...expected, expiresBy });
    expect(Date.parse(expiresAt)).toBeGreaterThan(askedAtMs);
    for (const [change, says] of [
      [{ user: 'fairlead:token:b0b' }, 'for another user'],
      [{ group: 'system:masters' }, 'for another user'],
      [{ key: (await newClientRequest('x', 'y')).key }, 'for another key'],
      [{ expiresBy: new Date(askedAtMs) }, 'valid for too long'],
    ] as const)
      expect(() => signedCertificate(answer, 'demo', { ...expected, expiresBy, ...change })).toThrow(says);
    // Its name is free again.
    await cluster.signClientCertificate(request, signal);
  });

  it('refuses lifetimes below ten minutes, and groups of the system', async () => {
    const { cluster } = context();
    const { csr } = await newClientRequest('fairlead:token:a11ce', OPERATORS_GROUP);
    await expect(cluster.signClientCertificate({ name: 'too-short', csr, ttlSeconds: 599 }, signal)).rejects.toThrow(
      'may not specify a duration less than 600 seconds',
    );
    const masters = await newClientRequest('mallory', 'system:masters');
    await expect(
      cluster.signClientCertificate({ name: 'masters', csr: masters.csr, ttlSeconds: 600 }, signal),
    ).rejects.toThrow('system:masters');
  });
};
