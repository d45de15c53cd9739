import * as z from 'zod';
import type { Cluster } from '../clusters/clusters.js';
import { installedVersion } from '../commands/apt.commands.js';
import type { ParsedArguments } from '../arguments/arguments.js';
import { CommandFault, type CommandCall } from '../commands/command.js';
import type { Host } from '../hosts/host.js';
import { CONTROL_PLANE_COMPONENTS, type ComponentFlags } from '../kubernetes/index.js';
import { renewCertificates } from './kubeadm.node.js';
import { minorOf } from './kubeadm.preflight.js';

/** `kubeadm upgrade apply VERSION` on the first control plane, `kubeadm upgrade node` on all others. */
export const kubeadmUpgrade = async (call: CommandCall, parsed: ParsedArguments): Promise<number> => {
  const { host, world, signal, out } = call;
  const cluster = world.clusters.of(host);
  const { membership } = host.record;
  if (cluster === undefined || membership === null)
    throw new CommandFault(`couldn't create a Kubernetes client from file "/etc/kubernetes/admin.conf"`);
  if (!cluster.kubernetes.etcd.hasQuorum())
    throw new CommandFault('[upgrade/health] FATAL: the API server does not answer: etcdserver: no leader');
  const kubeadm = `v${call.programVersion ?? installedVersion(host, 'kubeadm')}`;
  cluster.version = cluster.kubernetes.configuredVersion;
  const [, verb, requested] = parsed.positional;
  if (verb !== 'plan' && verb !== 'apply' && verb !== 'node')
    throw new CommandFault(`unknown command "${verb ?? ''}" for "kubeadm upgrade"`);
  const { nodeName, role } = membership;
  const version = requested ?? kubeadm;
  if (verb !== 'node') requireAcceptance(call, parsed);
  if (verb === 'plan' || parsed.has('--dry-run')) {
    out(`[upgrade/versions] Cluster version: ${cluster.version}`);
    out(`[upgrade/versions] kubeadm version: ${kubeadm}`);
    requireOneMinor(cluster.version, version, kubeadm);
    if (verb === 'apply') out('[dryrun] Finished dryrunning successfully! (simulated by Fairlead lab)');
    return 0;
  }
  if (verb === 'apply') {
    requireOneMinor(cluster.version, version, kubeadm);
    await exchangeStaticPods(call, cluster, nodeName, { version, flags: await patchedFlags(host, parsed) });
    cluster.version = version;
    cluster.kubernetes.setVersion(version);
    world.clusters.changed(cluster);
    out(`[upgrade/successful] SUCCESS! Your cluster was upgraded to "${version}". Enjoy! (simulated by Fairlead lab)`);
  } else {
    if (role === 'control-plane')
      await exchangeStaticPods(call, cluster, nodeName, {
        version: cluster.version,
        flags: await patchedFlags(host, parsed),
      });
    else await world.delays('upgrade', signal);
    out('[upgrade] The configuration for this node was successfully updated! (simulated by Fairlead lab)');
  }
  return 0;
};

/** kubeadm's patches of static pods (RFC 6902, `<target>+json.json`) that append arguments to a command. */
const CommandPatch = z.array(
  z.strictObject({ op: z.literal('add'), path: z.literal('/spec/containers/0/command/-'), value: z.string() }),
);

const patchedFlags = async ({ files }: Host, parsed: ParsedArguments): Promise<ComponentFlags> => {
  const folder = parsed.value('--patches');
  if (folder === undefined) return {};
  const found = await Promise.all(
    CONTROL_PLANE_COMPONENTS.map(async (component) => {
      const text = await files.readText(`${folder}/${component}+json.json`);
      const patch = text === undefined ? [] : CommandPatch.parse(JSON.parse(text));
      return [component, patch.map(({ value }) => value)] as const;
    }),
  );
  return Object.fromEntries(found.filter(([, flags]) => flags.length > 0));
};

/**
 * The effect of a kubeadm upgrade on a control plane: its etcd member is down while the container is replaced,
 * certificates are renewed, and static pods are recreated from new manifests.
 */
const exchangeStaticPods = async (
  { host, world, signal }: CommandCall,
  cluster: Cluster,
  node: string,
  { version, flags }: { readonly version: string; readonly flags: ComponentFlags },
): Promise<void> => {
  const { kubernetes } = cluster;
  const stopped = (running: boolean): void => {
    if (!kubernetes.externalEtcd) kubernetes.etcd.set(node, { running });
  };
  stopped(false);
  try {
    await world.delays('upgrade', signal);
  } finally {
    // If the command is interrupted, the kubelet still runs the pods of its manifests.
    stopped(host.power === 'on');
  }
  await renewCertificates(host, cluster);
  kubernetes.setControlPlaneVersion(node, version, flags);
};

/** Fails if a fault of the lab requests it. Ignored checks are only warnings. */
const requireAcceptance = ({ host, world, err }: CommandCall, parsed: ParsedArguments): void => {
  const refusal = world.upgradeRefusal(host.facts.name);
  if (refusal === undefined) return;
  const ignored = parsed.value('--ignore-preflight-errors')?.split(',') ?? [];
  const [, check] = /\[ERROR ([^\]]+)\]/.exec(refusal) ?? [];
  if (check !== undefined && ignored.includes(check)) {
    err(`\t${refusal.replace('[ERROR', '[WARNING')}`);
    return;
  }
  throw new CommandFault(
    [
      'error: error execution phase preflight: [preflight] Some fatal errors occurred:',
      `\t${refusal}`,
      '[preflight] If you know what you are doing, you can make a check non-fatal with `--ignore-preflight-errors=...`',
      'To see the stack trace of this error execute with --v=5 or higher',
    ].join('\n'),
  );
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
