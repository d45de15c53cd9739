import 'reflect-metadata';
import { BasicConstraintsExtension, X509CertificateGenerator } from '@peculiar/x509';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { change, desired, ModelHost } from './change.fixtures.js';

const CURRENT = '/var/lib/kubelet/pki/kubelet-client-current.pem';
const RENEWED = '/var/lib/kubelet/pki/kubelet-client-fairlead.pem';
const SERVING = '/var/lib/kubelet/pki/kubelet.crt';
const nothing = (): Promise<void> => Promise.resolve();
const encoded = (text: string): string => Buffer.from(text).toString('base64');
const KUBECONFIG = `users:\n- name: x\n  user:\n    client-certificate-data: ${encoded('NEW CERTIFICATE\n')}\n    client-key-data: ${encoded('NEW KEY\n')}\n`;

/** The clock of the model host is in June 2026. */
const pemUntil = async (notAfter: string, name = 'O=system:nodes, CN=system:node:demo-cp-1'): Promise<string> => {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
  const keys = await crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    serialNumber: '01',
    name,
    notBefore: new Date('2025-01-01'),
    notAfter: new Date(notAfter),
    keys,
    signingAlgorithm: algorithm,
    extensions: [new BasicConstraintsExtension(false)],
  });
  return `${certificate.toString('pem')}\n-----BEGIN EC PRIVATE KEY-----\nx\n-----END EC PRIVATE KEY-----\n`;
};

describe('the kubelet of a control plane whose certificates are renewed', () => {
  const only = change({ kubeadm: null, kubernetes: null, reboot: false });
  let ended: string;
  let valid: string;

  beforeAll(async () => {
    ended = await pemUntil('2026-05-01');
    valid = await pemUntil('2026-12-01');
  });

  const renew = async (host: ModelHost, pem: string): Promise<ModelHost> => {
    host.files.set(CURRENT, pem);
    host.files.set(SERVING, 'its own');
    host.printing.set('kubeadm kubeconfig user', KUBECONFIG);
    expect(await host.changes().ensure(desired({ change: only }), host.bootId, nothing)).toBeUndefined();
    return host;
  };

  it('gets a new client certificate from the CA on the host if its own has expired, and then everything restarts', async () => {
    const host = await renew(new ModelHost(), ended);
    const config = '/run/fairlead/kubeconfig-user.yaml';
    const words = `kubeadm kubeconfig user --config ${config} --client-name system:node:demo-cp-1 --org system:nodes`;
    expect(host.commands.filter((line) => /kubeadm|^ln |kubelet$/.test(line))).toEqual([
      'kubeadm certs renew all',
      words,
      `ln -sfn ${RENEWED} ${CURRENT}`,
      'systemctl restart kubelet',
      'systemctl restart kubelet',
    ]);
    expect(host.files.get(RENEWED)).toBe('NEW CERTIFICATE\nNEW KEY\n');
    expect(host.files.get(config)).toContain('kubernetesVersion: v1.34.4');
    expect([host.files.has(SERVING), host.manifests.length]).toEqual([false, 4]);
  });

  it('renews its certificate itself if it is valid', async () => {
    const host = await renew(new ModelHost(), valid);
    expect(host.commands.filter((line) => /kubeconfig user|restart kubelet/.test(line))).toEqual([]);
    expect(host.files.get(CURRENT)).toBe(valid);
  });

  describe('by a kubelet.conf that was made by hand, with a certificate in it that nothing renews', () => {
    const CONF = '/etc/kubernetes/kubelet.conf';
    const confWith = (pem: string): string =>
      `users:\n- name: system:node:demo-cp-1\n  user:\n    client-certificate-data: ${encoded(pem)}\n    client-key-data: ${encoded('KEY')}\n`;
    const LINKED = `users:\n- name: system:node:demo-cp-1\n  user:\n    client-certificate: ${CURRENT}\n    client-key: ${CURRENT}\n`;

    it('uses the certificate that it renews itself from then on', async () => {
      const host = new ModelHost();
      host.files.set(CONF, confWith(ended));
      await renew(host, valid);
      expect(host.files.get(CONF)).toBe(LINKED);
      expect(host.files.get(CURRENT)).toBe(valid);
      expect(host.commands.filter((line) => /kubeconfig user|restart kubelet/.test(line))).toContain(
        'systemctl restart kubelet',
      );
    });

    it('gets a new one if its own has ended as well', async () => {
      const host = new ModelHost();
      host.files.set(CONF, confWith(ended));
      await renew(host, ended);
      expect(host.files.get(CONF)).toBe(LINKED);
      expect(host.files.get(RENEWED)).toBe('NEW CERTIFICATE\nNEW KEY\n');
    });

    it('is left alone while that is valid', async () => {
      const host = new ModelHost();
      host.files.set(CONF, confWith(valid));
      await renew(host, valid);
      expect(host.files.get(CONF)).toBe(confWith(valid));
    });
  });

  it('does not count as renewed if kubeadm prints no certificate', async () => {
    const host = new ModelHost();
    host.files.set(CURRENT, ended);
    const failed = await host.changes().ensure(desired({ change: only }), host.bootId, nothing);
    expect(failed?.message).toBe('it printed no client certificate');
    expect(host.files.get(CURRENT)).toBe(ended);
  });

  it('fails in the words of kubeadm where the key of the authority is kept elsewhere, and restarts nothing', async () => {
    const host = new ModelHost();
    const words =
      'failure loading ca certificate authority: open /etc/kubernetes/pki/ca.key: no such file or directory';
    host.files.set(CURRENT, valid);
    host.failing.set('kubeadm certs renew', words);
    const failed = await host.changes().ensure(desired({ change: only }), host.bootId, nothing);
    expect(failed?.message).toBe(`exit code 1: ${words}`);
    expect([host.commands.filter((line) => /restart/.test(line)), host.manifests.length]).toEqual([[], 4]);
  });

  it('restarts everything if a static pod does not respond, whose certificates may have expired too', async () => {
    const host = new ModelHost();
    host.mute = 'etcd v1';
    await renew(host, valid);
    expect(host.commands.filter((line) => line === 'systemctl restart kubelet')).toHaveLength(1);
    expect(host.manifests).toHaveLength(4);
  });
});
