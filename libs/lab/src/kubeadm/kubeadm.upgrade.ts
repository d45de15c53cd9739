import { installedVersion } from '../commands/apt.commands.js';
import type { ParsedArguments } from '../commands/arguments.js';
import { CommandFault, type CommandCall } from '../commands/command.js';
import { minorOf } from './kubeadm.preflight.js';

/** `kubeadm upgrade apply VERSION` on the first control plane, `kubeadm upgrade node` on all others. */
export const kubeadmUpgrade = async (call: CommandCall, parsed: ParsedArguments): Promise<number> => {
  const { host, world, signal, out } = call;
  const cluster = world.clusters.of(host);
  const { membership } = host.record;
  if (cluster === undefined || membership === null)
    throw new CommandFault(`couldn't create a Kubernetes client from file "/etc/kubernetes/admin.conf"`);
  if (!cluster.kubernetes.hasQuorum())
    throw new CommandFault('[upgrade/health] FATAL: the API server does not answer: etcdserver: no leader');
  const kubeadm = `v${installedVersion(host, 'kubeadm')}`;
  const [, verb, wished] = parsed.positional;
  if (verb === 'plan') {
    out(`[upgrade/versions] Cluster version: ${cluster.version}`);
    out(`[upgrade/versions] kubeadm version: ${kubeadm}`);
    return 0;
  }
  if (verb !== 'apply' && verb !== 'node')
    throw new CommandFault(`unknown command "${verb ?? ''}" for "kubeadm upgrade"`);
  await world.delays('upgrade', signal);
  const { nodeName, role } = membership;
  if (verb === 'apply') {
    const version = wished ?? kubeadm;
    requireOneMinor(cluster.version, version, kubeadm);
    cluster.version = version;
    cluster.kubernetes.setVersion(version);
    cluster.kubernetes.setControlPlaneVersion(nodeName, version);
    world.clusters.changed(cluster);
    out(`[upgrade/successful] SUCCESS! Your cluster was upgraded to "${version}". Enjoy! (simulated by Fairlead lab)`);
  } else {
    if (role === 'control-plane') cluster.kubernetes.setControlPlaneVersion(nodeName, cluster.version);
    out('[upgrade] The configuration for this node was successfully updated! (simulated by Fairlead lab)');
  }
  return 0;
};

const requireOneMinor = (from: string, to: string, kubeadm: string): void => {
  if (minorOf(to) > minorOf(kubeadm)) {
    throw new CommandFault(
      `[upgrade/version] FATAL: the --version argument is invalid due to these fatal errors:\n\n\t- Specified version to upgrade to "${to}" is higher than the kubeadm version "${kubeadm}". Upgrade kubeadm first`,
    );
  }
  if (minorOf(to) - minorOf(from) > 1) {
    throw new CommandFault(
      `[upgrade/version] FATAL: the --version argument is invalid due to these fatal errors:\n\n\t- Specified version to upgrade to "${to}" is too high; kubeadm can upgrade only 1 minor version at a time`,
    );
  }
};
