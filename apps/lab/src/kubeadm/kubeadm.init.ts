import { API_PORT, type Cluster, type EtcdMemberPeer } from '../clusters/clusters.js';
import { installedVersion } from '../commands/apt.commands.js';
import { CommandFault, type CommandCall } from '../commands/command.js';
import { nodeRequest, startKubelet, writeControlPlane, writePki, writeSuperAdmin } from './kubeadm.node.js';
import { preflight } from './kubeadm.preflight.js';
import type { ExternalEtcd, InitRequest } from './kubeadm.requests.js';

/** The etcd member on the same host as the API server. */
const LOCAL_ETCD = 'https://127.0.0.1:2379';

const TOKEN_TTL_MS = 24 * 60 * 60 * 1_000;

export interface InitOptions {
  readonly ignoredChecks: readonly string[];
  readonly uploadCertificates: boolean;
}

/** `kubeadm init`: creates the cluster, makes this host its first control plane and serves its API. */
export const kubeadmInit = async (call: CommandCall, request: InitRequest, options: InitOptions): Promise<number> => {
  const { host, world, signal, out } = call;
  const version = request.kubernetesVersion ?? `v${installedVersion(host, 'kubeadm')}`;
  out(`[init] Using Kubernetes version: ${version}`);
  await preflight(call, {
    phase: 'init',
    controlPlane: true,
    ignored: [...request.node.ignoredChecks, ...options.ignoredChecks],
    failSwapOn: request.failSwapOn,
    kubernetesVersion: version.replace(/^v/, ''),
    externalEtcd: request.externalEtcd !== undefined,
  });
  const members = request.externalEtcd === undefined ? undefined : await externalMembers(call, request.externalEtcd);
  out('[certs] Using certificateDir folder "/etc/kubernetes/pki"');
  out('[certs] Generating "ca" certificate and key (simulated by Fairlead lab)');
  await world.delays('certificates', signal);
  // Nothing is awaited between here and the join, so an interrupted init leaves no cluster without a host.
  const endpoint = withPort(request.endpoint ?? host.facts.address);
  const cluster = await world.clusters.create({
    name: request.clusterName,
    version,
    podCidr: request.podCidr,
    nodeCidrMask: request.nodeCidrMask,
    serviceCidr: request.serviceCidr,
    endpoint,
    sans: [...new Set([hostOf(endpoint), request.node.name, ...request.sans])],
    etcd: members,
    apiServerFlags: request.apiServerFlags,
  });
  await writePki(host, cluster);
  out('[kubeconfig] Using kubeconfig folder "/etc/kubernetes"');
  await writeControlPlane(host, cluster, request.node.name);
  await writeSuperAdmin(host, cluster);
  world.clusters.join(host, cluster, nodeRequest(host, request.node, 'control-plane'));
  if (members === undefined) world.clusters.addEtcdMember(host, cluster, request.node.name);
  await startKubelet(call, cluster, request.node.name, true);
  out(
    '[wait-control-plane] Waiting for the kubelet to boot up the control plane as static Pods from directory "/etc/kubernetes/manifests"',
  );
  await world.delays('controlPlaneStart', signal);
  await world.clusters.hostChanged(host, installedVersion(host, 'kubelet'));
  requireAnswer(call, cluster, endpoint);
  await world.delays('initAddons', signal);
  out('[addons] Applied essential addon: CoreDNS');
  out('[addons] Applied essential addon: kube-proxy');
  world.clusters.changed(cluster);
  announce(call, cluster, options);
  return 0;
};

/** kubeadm requests the version of every given endpoint, with the client certificate that the API server will use. */
const externalMembers = async (
  { host, world }: CommandCall,
  { endpoints, caFile, certFile, keyFile }: ExternalEtcd,
): Promise<readonly EtcdMemberPeer[]> => {
  for (const file of [caFile, certFile, keyFile]) {
    if (!(await host.files.exists(file)))
      throw new CommandFault(
        `error execution phase preflight: [preflight] Some fatal errors occurred:\n\t[ERROR ExternalEtcdClientCertificates]: ${file} doesn't exist`,
      );
  }
  const etcd = (await world.clusters.unitEtcdOf(host))?.etcd;
  const silent = endpoints.filter(
    (endpoint) => endpoint !== LOCAL_ETCD && !etcd?.members().some(({ clientUrl }) => clientUrl === endpoint),
  );
  if (etcd?.hasQuorum() === true && silent.length === 0)
    return etcd.members().map(({ name, peerUrl, clientUrl }) => ({ name, peerUrl, clientUrl }));
  throw new CommandFault(
    `error execution phase preflight: [preflight] Some fatal errors occurred:\n\t[ERROR ExternalEtcdVersion]: Get "${silent[0] ?? endpoints[0] ?? ''}/version": dial tcp: connect: connection refused`,
  );
};

/** kubeadm waits for the API behind the given endpoint: an address that leads elsewhere fails the init. */
const requireAnswer = ({ world }: CommandCall, cluster: Cluster, endpoint: string): void => {
  if (world.clusters.behind(hostOf(endpoint), portOf(endpoint)) === cluster) return;
  throw new CommandFault(
    `error execution phase wait-control-plane: failed while waiting for the control plane to start: client rate limiter Wait returned an error: ` +
      `Get "https://${endpoint}/healthz?timeout=10s": context deadline exceeded (controlPlaneEndpoint does not lead to this host)`,
  );
};

const announce = ({ out }: CommandCall, cluster: Cluster, options: InitOptions): void => {
  const token = cluster.kubernetes.createBootstrapToken(Date.now(), TOKEN_TTL_MS).token;
  out('');
  out('Your Kubernetes control-plane has initialized successfully! (simulated by Fairlead lab)');
  out('');
  if (options.uploadCertificates) {
    out('You can now join any number of control-plane nodes running the following command on each as root:');
    out('');
    out(
      `${joinCommand(cluster, token)} \\\n\t--control-plane --certificate-key ${cluster.kubernetes.uploadCertificates(Date.now()).certificateKey}`,
    );
    out('');
  }
  out('Then you can join any number of worker nodes by running the following on each as root:');
  out('');
  out(joinCommand(cluster, token));
};

export const joinCommand = (cluster: Cluster, token: string): string =>
  `kubeadm join ${cluster.endpoint} --token ${token} --discovery-token-ca-cert-hash ${cluster.kubernetes.caHash} `;

export const withPort = (endpoint: string): string => (/:\d+$/.test(endpoint) ? endpoint : `${endpoint}:${API_PORT}`);
export const hostOf = (endpoint: string): string => endpoint.replace(/:\d+$/, '');
export const portOf = (endpoint: string): number => Number(/:(\d+)$/.exec(endpoint)?.[1] ?? API_PORT);
