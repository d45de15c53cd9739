import { describe, expect, it } from '@jest/globals';
import { createHash, X509Certificate } from 'node:crypto';
import { parse } from 'yaml';
import { KUBECONFIG, CA } from '../../test/world.js';
import { caCertHashOf, withServer } from './cluster.access.js';

describe("the administrator's kubeconfig", () => {
  it('names the balanced address and keeps everything else', () => {
    const before = parse(KUBECONFIG) as object;
    const after = parse(withServer(KUBECONFIG, 'https://198.18.7.1:6443')) as {
      clusters: { cluster: { server: string } }[];
    };
    expect(after.clusters[0]?.cluster.server).toBe('https://198.18.7.1:6443');
    after.clusters[0]!.cluster.server = 'https://10.0.0.1:6443';
    expect(after).toEqual(before);
  });

  it("tells the hash of the cluster CA's public key as openssl and kubeadm count it", () => {
    const spki = new X509Certificate(Buffer.from(CA, 'base64')).publicKey.export({ type: 'spki', format: 'der' });
    expect(caCertHashOf(KUBECONFIG)).toBe(`sha256:${createHash('sha256').update(spki).digest('hex')}`);
    expect(caCertHashOf(KUBECONFIG)).toBe('sha256:39cbcbbdcbed8df3de008f87857199bb57134fdf7cab063a563aaf4de32b9ebc');
  });

  it('without an authority is a bug of whoever wrote it', () =>
    expect(() => caCertHashOf('clusters: [{cluster: {}}]')).toThrow(/no certificate authority/));
});
