import { CertificateAuthority } from '@fairlead/lab/testing/certificates';
import { describe, expect, it } from '@jest/globals';
import { createHash, X509Certificate } from 'node:crypto';
import { parse } from 'yaml';
import { ENDS_AT, makeKubeconfigs, NODE_ADDRESS, SERVER, writeKubeconfig } from './kubeconfig.fixtures.js';
import { administratorFrom, kubeconfigOf, kubeconfigToSeal, sealedAdministrator, serverAt } from './kubeconfig.js';

const { authority, genuine, tricks } = await makeKubeconfigs({ marker: '/marker', elsewhere: 'http://127.0.0.1:1' });
const expected = { node: 'demo-cp-1', server: SERVER, addresses: [NODE_ADDRESS], caCertHash: authority.publicKeyHash };

describe('a kubeconfig from a control plane', () => {
  it('is accepted for the address that the platform knows, and written from a template', () => {
    const administrator = administratorFrom(genuine, expected);
    const written = kubeconfigOf('demo', administrator);
    expect(administrator).toMatchObject({ server: SERVER, caCertHash: authority.publicKeyHash, expiresAt: ENDS_AT });
    expect(parse(written)).toEqual({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'demo', cluster: { server: SERVER, 'certificate-authority-data': expect.any(String) } }],
      users: [
        {
          name: 'kubernetes-admin',
          user: {
            'client-certificate-data': expect.any(String),
            'client-key-data': expect.any(String),
          },
        },
      ],
      contexts: [{ name: 'kubernetes-admin@demo', context: { cluster: 'demo', user: 'kubernetes-admin' } }],
      'current-context': 'kubernetes-admin@demo',
    });
    expect(sealedAdministrator(written, 'demo', expected)).toEqual(administrator);
  });

  it('is sealed as JSON that every YAML parser reads alike', () => {
    const administrator = administratorFrom(genuine, expected);
    const sealed = kubeconfigToSeal('demo', administrator);
    expect(JSON.parse(sealed)).toEqual(parse(kubeconfigOf('demo', administrator)));
    expect(parse(sealed)).toEqual(JSON.parse(sealed));
    expect(sealedAdministrator(sealed, 'demo', expected)).toEqual(administrator);
  });

  it.each([
    ['runs a program', (user: object) => ({ ...user, exec: { command: 'touch' } }), 'which runs a program'],
    ['has a number for a key', (user: object) => ({ ...user, 'client-key-data': 7 }), 'has no client-key-data'],
    ['has a list for a user', () => [], 'not a map'],
    ['has nothing for a user', () => null, 'not a map'],
  ])('is refused as JSON that %s', (_what, change, says) => {
    const whole = parse(genuine) as { users: { user: object }[] };
    const users = whole.users.map((entry) => ({ ...entry, user: change(entry.user) }));
    expect(() => administratorFrom(JSON.stringify({ ...whole, users }), expected)).toThrow(says);
  });

  it("has the hash of the cluster CA's public key as openssl and kubeadm compute it", () => {
    const spki = new X509Certificate(authority.pair.certPem).publicKey.export({ type: 'spki', format: 'der' });
    const { caCertHash } = administratorFrom(genuine, { ...expected, caCertHash: null });
    expect(caCertHash).toBe(`sha256:${createHash('sha256').update(spki).digest('hex')}`);
  });

  it("may contain the control plane's own address, and is still written for the load-balanced one", async () => {
    const local = await writeKubeconfig(authority, undefined, serverAt({ host: NODE_ADDRESS, port: 6443 }));
    expect(administratorFrom(local, expected).server).toBe(SERVER);
  });

  it('has an IPv6 address in brackets', async () => {
    const server = serverAt({ host: 'fd00::1', port: 6443 });
    expect(server).toBe('https://[fd00::1]:6443');
    expect(administratorFrom(await writeKubeconfig(authority, undefined, server), { ...expected, server }).server).toBe(
      server,
    );
  });

  it('is accepted with the group that kubeadm uses since Kubernetes 1.29', async () => {
    const subject = {
      commonName: 'kubernetes-admin',
      organizations: ['kubeadm:cluster-admins'],
      usage: 'client',
    } as const;
    expect(administratorFrom(await writeKubeconfig(authority, subject), expected).expiresAt).toBe(ENDS_AT);
  });

  it.each(tricks.map(({ does, text, says }) => [does, text, says]))(
    'is refused from a hostile control plane with %s',
    (_does, text, says) => {
      const begun = performance.now();
      expect(() => administratorFrom(text, expected)).toThrow(says);
      expect(() => administratorFrom(text, { ...expected, caCertHash: null })).toThrow(says);
      expect(() => sealedAdministrator(text, 'demo')).toThrow(says);
      expect(performance.now() - begun).toBeLessThan(10_000);
    },
  );

  it('is refused with the address of another server, which the message names', async () => {
    for (const server of ['https://203.0.113.7:6443', 'https://198.18.7.1:443', 'https://198.18.7.1.evil.example:6443'])
      expect(() => administratorFrom(`${genuine}`.replace(SERVER, server), expected)).toThrow(
        `the kubeconfig is refused: its server is neither ${SERVER} nor the control plane that it was read on`,
      );
    for (const server of ['http://198.18.7.1:6443', `${SERVER}/@evil`, 'https://u:p@198.18.7.1:6443', `${SERVER}?x`])
      expect(() => administratorFrom(genuine.replace(SERVER, server), expected)).toThrow('https://<host>:<port>');
  });

  it('is refused with a CA other than the one with which the cluster was initialised', async () => {
    const foreign = await writeKubeconfig(await CertificateAuthority.create(Date.now()));
    expect(() => administratorFrom(foreign, expected)).toThrow(/authority is not the one with which the cluster was/);
    expect(() => sealedAdministrator(foreign, 'demo', expected)).toThrow(/authority is not the one/);
  });

  it('is refused without its secrets in the message', () => {
    const key =
      (parse(genuine) as { users: { user: Record<string, string> }[] }).users[0]?.user['client-key-data'] ?? '';
    for (const { text } of tricks) {
      const words = (() => {
        try {
          administratorFrom(text, expected);
          return '';
        } catch (error) {
          return String(error);
        }
      })();
      expect(words).not.toContain(key.slice(0, 40));
      expect(words.length).toBeLessThan(300);
    }
  });
});
