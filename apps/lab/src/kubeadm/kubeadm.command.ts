import type { Cluster } from '../clusters/clusters.js';
import { runsUnitEtcd } from '../clusters/unit.etcd.js';
import { installedVersion } from '../commands/apt.commands.js';
import { parseArguments, type ParsedArguments } from '../arguments/arguments.js';
import { CommandFault, type Command, type CommandCall } from '../commands/command.js';
import { joinCommand, kubeadmInit } from './kubeadm.init.js';
import { kubeadmJoin } from './kubeadm.join.js';
import {
  parseInitConfiguration,
  parseJoinConfiguration,
  type InitRequest,
  type JoinRequest,
  type NodeRequest,
} from './kubeadm.requests.js';
import { renewCertificates } from './kubeadm.node.js';
import { kubeadmUpgrade } from './kubeadm.upgrade.js';

const OPTIONS_WITH_VALUE = [
  '--config',
  '--ttl',
  '--description',
  '--token',
  '--discovery-token-ca-cert-hash',
  '--certificate-key',
  '--control-plane-endpoint',
  '--pod-network-cidr',
  '--service-cidr',
  '--kubernetes-version',
  '--node-name',
  '--apiserver-advertise-address',
  '--apiserver-cert-extra-sans',
  '--ignore-preflight-errors',
  '--cri-socket',
  '--skip-phases',
  '--patches',
  '--kubeconfig',
  '-o',
  '--output',
  '-v',
  '--v',
];

/** kubeadm's default for `token create`. */
const TOKEN_TTL = '24h0m0s';

export const kubeadm: Command = async (call) => {
  const parsed = parseArguments(call.args, OPTIONS_WITH_VALUE);
  const [verb, subject] = parsed.positional;
  switch (verb) {
    case 'version':
      return version(call, parsed);
    case 'init':
      return subject === 'phase' ? initPhase(call, parsed) : init(call, parsed);
    case 'join':
      return join(call, parsed);
    case 'token':
      return token(call, parsed);
    case 'reset':
      return reset(call);
    case 'certs':
      return certs(call, parsed);
    case 'upgrade':
      return kubeadmUpgrade(call, parsed);
    case 'config':
      return 0;
    default:
      throw new CommandFault(`unknown command "${verb ?? ''}" for "kubeadm" (simulated by Fairlead lab)`);
  }
};

const version = ({ host, out }: CommandCall, parsed: ParsedArguments): number => {
  const installed = `v${installedVersion(host, 'kubeadm')}`;
  const format = parsed.value('-o', '--output');
  if (format === 'short') out(installed);
  else if (format === 'json') out(JSON.stringify({ clientVersion: { gitVersion: installed } }));
  else out(`kubeadm version: &version.Info{GitVersion:"${installed}"} (simulated by Fairlead lab)`);
  return 0;
};

const init = async (call: CommandCall, parsed: ParsedArguments): Promise<number> =>
  kubeadmInit(call, await initRequest(call, parsed), {
    ignoredChecks: ignoredChecks(parsed),
    uploadCertificates: parsed.has('--upload-certs'),
  });

const initRequest = async (call: CommandCall, parsed: ParsedArguments): Promise<InitRequest> => {
  const config = await configText(call, parsed);
  if (config !== undefined) return parseInitConfiguration(config, call.host.record.hostname);
  return {
    node: flagNode(call, parsed),
    clusterName: 'kubernetes',
    kubernetesVersion: parsed.value('--kubernetes-version'),
    endpoint: parsed.value('--control-plane-endpoint'),
    podCidr: parsed.value('--pod-network-cidr') ?? '10.244.0.0/16',
    nodeCidrMask: undefined,
    serviceCidr: parsed.value('--service-cidr') ?? '10.96.0.0/12',
    sans: parsed.value('--apiserver-cert-extra-sans')?.split(',') ?? [],
    failSwapOn: true,
    externalEtcd: undefined,
    apiServerFlags: [],
  };
};

const join = async (call: CommandCall, parsed: ParsedArguments): Promise<number> => {
  const config = await configText(call, parsed);
  const request =
    config === undefined ? joinFlags(call, parsed) : parseJoinConfiguration(config, call.host.record.hostname);
  return kubeadmJoin(call, request, ignoredChecks(parsed));
};

const joinFlags = (call: CommandCall, parsed: ParsedArguments): JoinRequest => {
  const [, endpoint] = parsed.positional;
  if (endpoint === undefined)
    throw new CommandFault('discovery: Invalid value: "": bootstrapToken or file must be set');
  return {
    node: flagNode(call, parsed),
    endpoint,
    token: parsed.value('--token') ?? '',
    caCertHashes: parsed.value('--discovery-token-ca-cert-hash')?.split(',') ?? [],
    unsafeSkipCaVerification: parsed.has('--discovery-token-unsafe-skip-ca-verification'),
    controlPlane: parsed.has('--control-plane')
      ? { certificateKey: parsed.value('--certificate-key') ?? '' }
      : undefined,
  };
};

const flagNode = ({ host }: CommandCall, parsed: ParsedArguments): NodeRequest => ({
  name: parsed.value('--node-name') ?? host.record.hostname,
  labels: {},
  providerId: undefined,
  taints: undefined,
  ignoredChecks: [],
});

const configText = async ({ host }: CommandCall, parsed: ParsedArguments): Promise<string | undefined> => {
  const path = parsed.value('--config');
  if (path === undefined) return undefined;
  const text = await host.files.readText(path);
  if (text === undefined)
    throw new CommandFault(`unable to read config from "${path}" [open ${path}: no such file or directory]`);
  return text;
};

const ignoredChecks = (parsed: ParsedArguments): readonly string[] =>
  parsed.value('--ignore-preflight-errors')?.split(',') ?? [];

/** Returns the cluster of this control plane, or fails if its API does not answer. */
const answeringCluster = async ({ host, world }: CommandCall): Promise<Cluster> => {
  const cluster = world.clusters.of(host);
  if (cluster === undefined || !(await host.files.exists('/etc/kubernetes/admin.conf'))) {
    throw new CommandFault(
      'failed to load admin kubeconfig: open /etc/kubernetes/admin.conf: no such file or directory',
    );
  }
  if (!world.clusters.servesApi(host) || !cluster.kubernetes.etcd.hasQuorum()) {
    throw new CommandFault(
      `Get "https://${cluster.endpoint}/api/v1/namespaces/kube-system": etcdserver: request timed out`,
    );
  }
  return cluster;
};

const initPhase = async (call: CommandCall, parsed: ParsedArguments): Promise<number> => {
  if (parsed.positional[2] !== 'upload-certs') {
    throw new CommandFault(`kubeadm init phase ${parsed.positional[2] ?? ''} is not simulated by Fairlead lab`);
  }
  const cluster = await answeringCluster(call);
  await call.world.delays('token', call.signal);
  const { certificateKey } = cluster.kubernetes.uploadCertificates(Date.now());
  call.world.clusters.changed(cluster);
  call.out('[upload-certs] Storing the certificates in Secret "kubeadm-certs" in the "kube-system" Namespace');
  call.out('[upload-certs] Using certificate key:');
  call.out(certificateKey);
  return 0;
};

const token = async (call: CommandCall, parsed: ParsedArguments): Promise<number> => {
  const [, verb, requested] = parsed.positional;
  if (verb !== 'create') throw new CommandFault(`kubeadm token ${verb ?? ''} is not simulated by Fairlead lab`);
  const cluster = await answeringCluster(call);
  await call.world.delays('token', call.signal);
  const ttlMs = goDurationMs(parsed.value('--ttl') ?? TOKEN_TTL);
  const { token: created } = cluster.kubernetes.createBootstrapToken(Date.now(), ttlMs, requested);
  call.world.clusters.changed(cluster);
  call.out(parsed.has('--print-join-command') ? joinCommand(cluster, created) : created);
  return 0;
};

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** A Go duration such as `1h30m0s`, `1800s` or `15m`. */
export const goDurationMs = (text: string): number => {
  const parts = [...text.matchAll(/(\d{1,15}(?:\.\d{1,15})?)(ms|h|m|s)/g)];
  if (parts.length === 0 || parts.map(([part]) => part).join('') !== text) {
    throw new CommandFault(`invalid argument "${text}" for "--ttl" flag: time: invalid duration "${text}"`);
  }
  return parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNIT_MS[unit ?? ''] ?? 0), 0);
};

const reset = async ({ host, world, signal, out }: CommandCall): Promise<number> => {
  await world.delays('reset', signal);
  out('[reset] Stopping the kubelet service');
  if (await host.services.read('kubelet')) await host.services.stop('kubelet');
  await world.clusters.leave(host);
  const data = (await runsUnitEtcd(host.files)) ? [] : ['/var/lib/etcd'];
  for (const path of ['/etc/kubernetes', '/var/lib/kubelet', ...data]) await host.files.removeTree(path);
  out('[reset] Deleting contents of directories: [/etc/kubernetes/manifests /var/lib/kubelet /etc/kubernetes/pki]');
  out('The reset process does not clean CNI configuration. (simulated by Fairlead lab)');
  return 0;
};

/** The certificates that can be renewed, with kubeadm's descriptions (cmd/kubeadm/app/phases/certs/renewal). */
const CERTIFICATES: Readonly<Record<string, string>> = {
  'admin.conf': 'certificate embedded in the kubeconfig file for the admin to use and for kubeadm itself',
  apiserver: 'certificate for serving the Kubernetes API',
  'apiserver-etcd-client': 'certificate the apiserver uses to access etcd',
  'apiserver-kubelet-client': 'certificate for the API server to connect to kubelet',
  'controller-manager.conf': 'certificate embedded in the kubeconfig file for the controller manager to use',
  'etcd-healthcheck-client': 'certificate for liveness probes to healthcheck etcd',
  'etcd-peer': 'certificate for etcd nodes to communicate with each other',
  'etcd-server': 'certificate for serving etcd',
  'front-proxy-client': 'certificate for the front proxy client',
  'scheduler.conf': 'certificate embedded in the kubeconfig file for the scheduler manager to use',
};
const CERTIFICATE_DAYS = 365;
const DAY_MS = 86_400_000;

/** `Nov 21, 2027 22:10 UTC`, the format in which kubeadm prints an expiry. */
const printedEnd = (ms: number): string => {
  const date = new Date(ms);
  const month = date.toLocaleString('en-US', { month: 'short', timeZone: 'UTC' });
  const [, time = ''] = /T(\d\d:\d\d)/.exec(date.toISOString()) ?? [];
  return `${month} ${String(date.getUTCDate()).padStart(2, '0')}, ${date.getUTCFullYear()} ${time} UTC`;
};

const certs = async ({ host, out, world }: CommandCall, parsed: ParsedArguments): Promise<number> => {
  const cluster = world.clusters.of(host);
  if (cluster === undefined) throw new CommandFault('failed to load existing certificate');
  const [, verb] = parsed.positional;
  if (verb === 'renew') {
    await renewCertificates(host, cluster);
    for (const words of Object.values(CERTIFICATES)) out(`${words} renewed`);
    out(
      '\nDone renewing certificates. You must restart the kube-apiserver, kube-controller-manager, kube-scheduler and etcd, so that they can use the new certificates.',
    );
    return 0;
  }
  if (verb !== 'check-expiration') throw new CommandFault(`unknown command "${verb ?? ''}" for "kubeadm certs"`);
  const made = host.record.certificatesAtMs === 0 ? host.record.bootedAtMs : host.record.certificatesAtMs;
  const endsMs = made + CERTIFICATE_DAYS * DAY_MS;
  const days = Math.floor((endsMs - Date.now()) / DAY_MS);
  out('CERTIFICATE                EXPIRES                  RESIDUAL TIME   CERTIFICATE AUTHORITY   EXTERNALLY MANAGED');
  for (const name of Object.keys(CERTIFICATES))
    out(`${name.padEnd(27)}${printedEnd(endsMs).padEnd(25)}${`${days}d`.padEnd(16)}${'ca'.padEnd(24)}no      `);
  return 0;
};
