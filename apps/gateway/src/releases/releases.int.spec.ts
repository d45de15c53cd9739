import type { ErrorView, ReleaseList, ReleaseSignersView, ReleaseView } from '@fairlead/contracts';
import { newSigningKey } from '@fairlead/mirror/signatures';
import { describe, expect, it } from '@jest/globals';
import { goodRequest } from '../clusters/clusters.fixtures.js';
import { useGateway } from '../gateway.fixtures.js';
import { key, row, signed } from './releases.fixtures.js';

const gateway = useGateway();
const stranger = newSigningKey();

const imported = (body: object) =>
  gateway.ask<Omit<ReleaseSignersView, 'kind'> & ErrorView>('POST', '/release-signers/catalogue', { body });
const trust = (...signers: readonly string[]) =>
  gateway.ask<ReleaseSignersView>('PUT', '/release-signers', { body: { signers } });
const create = (name: string, version: string) =>
  gateway.ask<ErrorView>('POST', '/ns/default/clusters', {
    body: { ...goodRequest, name, config: { kubernetes: { version } } },
  });
const upgradeTo = (name: string, version: string) =>
  gateway.ask<ErrorView>('PATCH', `/ns/default/clusters/${name}/manifest`, { body: { spec: { version } } });

describe('releases of an installation', () => {
  it('are the built-in ones at first, the newest first, each with what has run it', async () => {
    const { body } = await gateway.ask<ReleaseList>('GET', '/releases');
    expect(body.items[0]).toMatchObject({
      version: 'v1.36.4',
      verified: 'listed',
      origin: 'built-in',
      withdrawn: null,
    });
    expect(body.items.at(-1)?.version).toBe('v1.30.0');
    const one = await gateway.ask<ReleaseView>('GET', '/releases/v1.34.4');
    expect(one.body).toMatchObject({
      verified: 'real',
      etcd: '3.6.5-0',
      sha256: { amd64: { kubeadm: expect.any(String) } },
    });
    const none = await gateway.ask<ErrorView>('GET', '/releases/v1.34.12');
    expect([none.status, none.body.reason]).toEqual([404, 'release.not-found']);
  });

  it('are added by an administrator, and then clusters are created with them and declared at them', async () => {
    expect((await create('demo', 'v1.34.12')).body.reason).toBe('cluster.version-unknown');
    const { version: _version, ...request } = row('v1.34.12');
    const added = await gateway.ask<ReleaseView>('PUT', '/releases/v1.34.12', { body: request });
    expect([added.status, added.body.origin]).toEqual([200, 'added']);
    expect((await create('demo', 'v1.34.12')).status).toBe(202);
    const { body } = await gateway.ask<{ kubernetes: { known: string[] } }>('GET', '/version');
    expect(body.kubernetes.known).toContain('v1.34.12');
  });

  it('that are withdrawn are refused with the reason, for a new cluster and for a declared version', async () => {
    const body = { reason: 'its kubelet loses mounts' };
    expect((await gateway.ask('POST', '/releases/v1.34.12/withdraw', { body })).status).toBe(200);
    const refused = await create('other', 'v1.34.12');
    expect([refused.status, refused.body.reason]).toEqual([400, 'cluster.version-withdrawn']);
    expect(refused.body.message).toContain('its kubelet loses mounts');
    expect((await create('other', 'v1.34.11')).status).toBe(202);
    expect((await upgradeTo('other', 'v1.34.12')).body.reason).toBe('cluster.version-withdrawn');
    expect((await upgradeTo('other', 'v1.34.99')).body.reason).toBe('cluster.version-unknown');
  });

  it('of a catalogue are taken only with the signature of a trusted key, over exactly this text, for this purpose', async () => {
    const good = signed({});
    expect((await imported(good)).body.reason).toBe('release.catalogue-unsigned');
    expect((await trust(key.publicKey)).body.signers).toEqual([key.publicKey]);
    for (const bad of [
      { ...good, signatures: '' },
      { ...good, catalogue: `${good.catalogue} ` },
      signed({}, stranger.privateKey),
      signed({}, key.privateKey, 'catalogue'),
    ])
      expect((await imported(bad)).body.reason).toBe('release.catalogue-unsigned');
    expect((await imported(signed({ releases: 'none' }))).body.reason).toBe('release.catalogue-invalid');
    expect((await imported(signed({ expires: '2020-01-01T00:00:00Z' }))).body.reason).toBe('release.catalogue-expired');
  });

  it('of a catalogue are known as soon as it is accepted, and an older one is not taken in its place', async () => {
    const { status, body } = await imported(signed({ sequence: 7, releases: [row('v1.34.13')] }));
    expect([status, body.catalogues]).toMatchObject([200, [{ signer: key.publicKey, sequence: 7, expired: false }]]);
    const one = await gateway.ask<ReleaseView>('GET', '/releases/v1.34.13');
    expect(one.body).toMatchObject({ origin: 'catalogue', verified: 'listed' });
    expect((await create('third', 'v1.34.13')).status).toBe(202);
    const before = (await gateway.log()).length;
    expect((await imported(signed({ sequence: 7, releases: [row('v1.34.13')] }))).status).toBe(200);
    const old = await imported(signed({ sequence: 6 }));
    expect([old.status, old.body.reason]).toEqual([409, 'release.catalogue-replayed']);
    expect((await gateway.log()).length).toBe(before);
  });
});
