import { ExternalFailure } from '@fairlead/contracts';
import { clientCertificateIn, type ClientCertificate } from '../certificates/certificates.js';
import type { HostPort } from '../node/host.ports.js';
import { KUBELET_CONF } from '../node/node.paths.js';
import { mustRun, replaceFile } from '../software/item.js';
import { restartKubelet } from './etcd.restore.js';
import type { PhaseParts, PhaseTask } from './phase.task.js';

const PKI = '/var/lib/kubelet/pki';
/** A link to the newest certificate, which the kubelet replaces at a renewal. */
const CURRENT = `${PKI}/kubelet-client-current.pem`;
const RENEWED = `${PKI}/kubelet-client-fairlead.pem`;
const SERVING = ['kubelet.crt', 'kubelet.key'].map((name) => `${PKI}/${name}`);
/** Only in memory, so that it is gone after a boot. */
const CONFIG = '/run/fairlead/kubeconfig-user.yaml';
const PRIVATE = 0o600;
const TIMEOUT_MS = 60_000;
/** A certificate that expires sooner may expire before the started kubelet can renew it. */
const SOON_MS = 60 * 60_000;

const isOver = ({ expiresAt }: ClientCertificate, now: Date): boolean =>
  Date.parse(expiresAt) - now.getTime() < SOON_MS;

/** Without these two values, kubeadm looks up the host's default route and downloads a version. */
const configOf = (version: string): string => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const api = major === 1 && minor < 31 ? 'kubeadm.k8s.io/v1beta3' : 'kubeadm.k8s.io/v1beta4';
  return [
    `apiVersion: ${api}`,
    'kind: InitConfiguration',
    'localAPIEndpoint: { advertiseAddress: 192.0.2.1 }',
    'nodeRegistration: { name: node, criSocket: unix:///run/containerd/containerd.sock }',
    '---',
    `apiVersion: ${api}`,
    'kind: ClusterConfiguration',
    `kubernetesVersion: v${version}`,
    '',
  ].join('\n');
};

/** The certificate and the key of a kubeconfig; empty: it has none. */
export const pemsIn = (kubeconfig: string): readonly string[] =>
  ['certificate', 'key'].map((part) => {
    const [, data] = new RegExp(`^[ \\t]*client-${part}-data:[ \\t]*(\\S+)[ \\t]*$`, 'm').exec(kubeconfig) ?? [];
    return data === undefined ? '' : Buffer.from(data, 'base64').toString('utf8');
  });

/** Signs with the cluster's CA, whose key a control plane has; no API is needed. */
const signed = async (host: HostPort, { name, organization }: ClientCertificate, version: string): Promise<string> => {
  await host.writeFile(CONFIG, configOf(version), PRIVATE);
  const words = ['kubeconfig', 'user', '--config', CONFIG, '--client-name', name, '--org', organization];
  const kubeconfig = await mustRun(host, 'kubeadm', words, TIMEOUT_MS);
  const pems = pemsIn(kubeconfig);
  if (!pems.includes('')) return pems.join('');
  const message = 'it printed no client certificate';
  throw new ExternalFailure({ operation: 'kubeadm kubeconfig user', target: 'host', message });
};

/** kubeadm's own `kubelet-finalize`: by hand, `kubeadm init phase kubeconfig kubelet` leaves the certificate in the file. */
const linked = (kubeconfig: string): string =>
  kubeconfig.replaceAll(/^( *client-(?:certificate|key))-data:.*$/gm, `$1: ${CURRENT}`);

/**
 * A kubelet renews its certificates itself while it runs and the API accepts it. One with an expired client certificate
 * does not even start, and neither do its static pods: this issues a new one, and removes its serving certificate so
 * that the kubelet creates a new one. Returns whether it was renewed.
 */
export const renewKubelet = async (parts: PhaseParts, { desired }: PhaseTask): Promise<boolean> => {
  const { host, now, removeFile } = parts;
  const kubeconfig = (await host.readFile(KUBELET_CONF)) ?? '';
  const [given, current] = [kubeconfig, (await host.readFile(CURRENT)) ?? ''].map(clientCertificateIn);
  const before = current ?? given;
  if (before === undefined) return false;
  // A kubelet starts with the certificate of its kubeconfig, and never renews that one.
  const isGivenOver = given !== undefined && isOver(given, now());
  const isCurrentOver = isOver(before, now());
  if (!isGivenOver && !isCurrentOver) return false;
  if (isCurrentOver) {
    await host.writeFile(RENEWED, await signed(host, before, desired['kubelet'] ?? ''), PRIVATE);
    await mustRun(host, 'ln', ['-sfn', RENEWED, CURRENT]);
  }
  if (isGivenOver) await replaceFile(host, KUBELET_CONF, linked(kubeconfig), PRIVATE);
  for (const path of SERVING) await removeFile?.(path);
  await restartKubelet(host);
  return true;
};
