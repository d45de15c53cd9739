import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { MemorySecrets } from '../../test/world.js';
import { UID } from '../bootstrap/bootstrap.fixtures.js';
import { etcdAuthorityRef } from '../kubernetes/cluster.access.js';
import { RememberedSecrets } from '../secrets.cache.js';
import { EtcdAuthorities } from './etcd.authority.js';

const NOW = new Date('2026-01-01T00:00:00.000Z');
const MEMBER = { name: 'demo-cp-2-m3v8c', address: '198.18.7.12' };
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';

describe("the CA of a cluster's etcd", () => {
  let secrets: MemorySecrets;
  const authorities = (): EtcdAuthorities => new EtcdAuthorities(new RememberedSecrets(secrets), { now: () => NOW });

  beforeEach(() => {
    secrets = new MemorySecrets();
  });
  afterEach(() => expect([...secrets.values.keys()]).toContain(etcdAuthorityRef(UID)));

  it('is created once, sealed with the key of its cluster before it issues anything, and found by every replica', async () => {
    const made = await authorities().of(UID);
    expect(secrets.values.get(made.ref)).toMatchObject({ owner: UID });
    const found = await authorities().of(UID);
    expect(found.authority.pair).toEqual(made.authority.pair);
    const certificates = await found.authority.certificatesOf(MEMBER);
    const ca = new X509Certificate(made.authority.pair.cert);
    expect(ca.ca).toBe(true);
    expect(new X509Certificate(certificates.server.cert).verify(ca.publicKey)).toBe(true);
  });

  it("issues certificates for each member's own name and addresses, with their keys, and never reveals its own key [CB-Ladybug 22]", async () => {
    const { authority } = await authorities().of(UID);
    const certificates = await authority.certificatesOf(MEMBER);
    const ca = new X509Certificate(certificates.ca);
    const { server, peer, healthcheckClient, apiserverClient } = certificates;
    for (const pair of [server, peer, healthcheckClient, apiserverClient]) {
      const certificate = new X509Certificate(pair.cert);
      expect(certificate.verify(ca.publicKey)).toBe(true);
      expect(certificate.checkIssued(ca)).toBe(true);
      expect(certificate.checkPrivateKey(createPrivateKey(pair.key))).toBe(true);
    }
    for (const pair of [server, peer]) {
      const certificate = new X509Certificate(pair.cert);
      expect(certificate.subject).toBe(`CN=${MEMBER.name}`);
      expect(certificate.checkHost(MEMBER.name)).toBe(MEMBER.name);
      expect(certificate.checkIP(MEMBER.address)).toBe(MEMBER.address);
      expect(certificate.checkIP('198.18.7.13')).toBeUndefined();
      expect(certificate.keyUsage).toEqual([SERVER_AUTH, CLIENT_AUTH]);
    }
    expect(new X509Certificate(apiserverClient.cert).keyUsage).toEqual([CLIENT_AUTH]);
    expect(JSON.stringify(certificates)).not.toContain(authority.pair.key.split('\n')[1]);
  });

  it('is valid for ten years, and so are its certificates: kubeadm does not renew them', async () => {
    const { authority } = await authorities().of(UID);
    const { ca, server } = await authority.certificatesOf(MEMBER);
    const end = Date.parse('2035-12-30T00:00:00.000Z');
    for (const pem of [ca, server.cert]) expect(Date.parse(new X509Certificate(pem).validTo)).toBe(end);
  });
});
