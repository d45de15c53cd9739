import type { Cluster } from '../clusters/clusters.js';
import { runsUnitEtcd } from '../clusters/unit.etcd.js';
import { installedVersion } from '../commands/apt.commands.js';
import { CommandFault, type CommandCall } from '../commands/command.js';
import { hostOf, portOf, withPort } from './kubeadm.init.js';
import { nodeRequest, startKubelet, writeControlPlane, writePki } from './kubeadm.node.js';
import { minorOf, preflight } from './kubeadm.preflight.js';
import type { JoinRequest } from './kubeadm.requests.js';

/** `kubeadm join`: makes this host another node of the cluster behind the endpoint. */
export const kubeadmJoin = async (
  call: CommandCall,
  request: JoinRequest,
  ignoredChecks: readonly string[],
): Promise<number> => {
  const { host, world, signal, out } = call;
  await preflight(call, {
    phase: 'join',
    controlPlane: request.controlPlane !== undefined,
    ignored: [...request.node.ignoredChecks, ...ignoredChecks],
    failSwapOn: true,
    kubernetesVersion: undefined,
    externalEtcd: await runsUnitEtcd(host.files),
  });
  await world.delays('discovery', signal);
  const cluster = discover(call, request);
  out(`[preflight] Reading configuration from the "kubeadm-config" ConfigMap in namespace "kube-system"...`);
  if (request.controlPlane === undefined) {
    world.clusters.join(host, cluster, nodeRequest(host, request.node, 'worker'));
    await startKubelet(call, cluster, request.node.name, false);
  } else {
    await joinControlPlane(call, cluster, request, request.controlPlane.certificateKey);
  }
  await world.clusters.hostChanged(host, installedVersion(host, 'kubelet'));
  world.clusters.changed(cluster);
  out('');
  out('This node has joined the cluster (simulated by Fairlead lab):');
  out('* Certificate signing request was sent to apiserver and a response was received.');
  out('* The Kubelet was informed of the new secure connection details.');
  return 0;
};

const joinControlPlane = async (
  call: CommandCall,
  cluster: Cluster,
  request: JoinRequest,
  key: string,
): Promise<void> => {
  const { host, world, signal, out } = call;
  if (!cluster.kubernetes.checkCertificateKey(key)) {
    throw new CommandFault(
      'error execution phase control-plane-prepare/download-certs: error downloading certs: error downloading the secret: ' +
        'Secret "kubeadm-certs" was not found in the "kube-system" Namespace or could not be decrypted with the certificate key',
    );
  }
  out('[download-certs] Downloading the certificates in Secret "kubeadm-certs" in the "kube-system" Namespace');
  await world.delays('certificates', signal);
  await writePki(host, cluster);
  await writeControlPlane(host, cluster, request.node.name);
  world.clusters.join(host, cluster, nodeRequest(host, request.node, 'control-plane'));
  await startKubelet(call, cluster, request.node.name, true);
  if (cluster.kubernetes.externalEtcd) {
    out('[check-etcd] Skipping etcd check in external mode');
    return;
  }
  out('[etcd] Announced new etcd member joining to the existing etcd cluster');
  await world.delays('etcdJoin', signal);
  world.clusters.addEtcdMember(host, cluster, request.node.name);
};

/** Returns the cluster that matches the endpoint, the token and the CA hash, or fails with kubeadm's message. */
const discover = ({ world, host }: CommandCall, request: JoinRequest): Cluster => {
  const endpoint = withPort(request.endpoint);
  const cluster = world.clusters.behind(hostOf(endpoint), portOf(endpoint));
  const fail = (words: string): never => {
    throw new CommandFault(
      `error execution phase preflight: couldn't validate the identity of the API Server: ${words}`,
    );
  };
  if (cluster === undefined) {
    return fail(
      `failed to request the cluster-info ConfigMap: Get "https://${endpoint}/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s": dial tcp ${endpoint}: connect: connection refused`,
    );
  }
  if (!cluster.kubernetes.checkToken(request.token)) {
    return fail(
      `could not find a JWS signature in the cluster-info ConfigMap for token ID "${request.token.split('.')[0] ?? ''}"`,
    );
  }
  if (!request.unsafeSkipCaVerification && !request.caCertHashes.includes(cluster.kubernetes.caHash)) {
    return fail(
      `cluster CA found in cluster-info ConfigMap is invalid: none of the public keys "${cluster.kubernetes.caHash}" are pinned`,
    );
  }
  const kubelet = installedVersion(host, 'kubelet') ?? '0.0';
  const version = cluster.kubernetes.configuredVersion;
  if (minorOf(kubelet) > minorOf(version)) {
    throw new CommandFault(
      `error execution phase preflight: [preflight] Some fatal errors occurred:\n\t[ERROR KubeletVersion]: the kubelet version is higher than the control plane version. Kubelet version: "${kubelet}" Control plane version: "${version.slice(1)}"`,
    );
  }
  return cluster;
};
