import type { Host } from '../hosts/host.js';
import { installedVersion } from './apt.commands.js';
import { parseArguments } from '../arguments/arguments.js';
import { CommandFault, type Command, type CommandCall } from './command.js';
import { etcdctl } from './etcdctl.command.js';

const SIMULATED = '(simulated by Fairlead lab)';

export const containerd: Command = ({ host, args, out }) => {
  const version = containerdVersion(host) ?? '';
  const [verb, what] = args;
  if (verb === '--version' || verb === '-v') {
    out(`containerd github.com/containerd/containerd v${version} ${SIMULATED}`);
    return 0;
  }
  if (verb === 'config' && (what === 'default' || what === 'dump')) {
    out(defaultConfig(version));
    return 0;
  }
  throw new CommandFault(`containerd: the lab runs it only as a unit ${SIMULATED}`);
};

export const containerdVersion = (host: Host): string | undefined =>
  installedVersion(host, 'containerd') ?? installedVersion(host, 'containerd.io');

/** The part of `containerd config default` that installation scripts edit. */
const defaultConfig = (version: string): string =>
  version.startsWith('1.')
    ? [
        'version = 2',
        '[plugins."io.containerd.grpc.v1.cri"]',
        '  sandbox_image = "registry.k8s.io/pause:3.8"',
        '  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]',
        '    SystemdCgroup = false',
      ].join('\n')
    : [
        'version = 3',
        "[plugins.'io.containerd.cri.v1.images'.pinned_images]",
        "  sandbox = 'registry.k8s.io/pause:3.10'",
        "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]",
        '  SystemdCgroup = false',
      ].join('\n');

const requireRuntime = async (host: Host): Promise<void> => {
  if (await host.services.isRunning('containerd')) return;
  throw new CommandFault(
    'validate service connection: validate CRI v1 runtime API for endpoint "unix:///run/containerd/containerd.sock": ' +
      'rpc error: code = Unavailable desc = connection error: dial unix /run/containerd/containerd.sock: connect: no such file or directory',
  );
};

export const ctr: Command = async ({ host, args, out, world }) => {
  if (args.includes('--version') || args.includes('-v')) {
    out(`ctr github.com/containerd/containerd v${containerdVersion(host) ?? ''} ${SIMULATED}`);
    return 0;
  }
  await requireRuntime(host);
  const pods = world.clusters.podsOn(host);
  const parsed = parseArguments(args, ['--namespace', '-n', '--address', '-a']);
  const [subject, verb, filter = ''] = parsed.positional;
  switch (`${subject} ${verb === 'ls' ? 'list' : verb}`) {
    case 'containers list': {
      const desired = /^labels\."io\.kubernetes\.container\.name"==([^\s,]+)/.exec(filter)?.[1];
      for (const pod of pods) if (desired === undefined || pod === desired) out(containerId(host, pod));
      return 0;
    }
    case 'tasks list':
      if (parsed.has('-q', '--quiet')) for (const pod of pods) out(containerId(host, pod));
      else {
        out('TASK    PID    STATUS');
        for (const pod of pods) out(`${containerId(host, pod)}    1    RUNNING`);
      }
      return 0;
    case 'images mount':
      await mountImage(host, filter, parsed.positional[3] ?? '');
      return 0;
    case 'images unmount':
      await host.files.removeTree(filter);
      return 0;
  }
  if (args.includes('version')) {
    out(
      `Client:\n  Version:  v${containerdVersion(host)}\nServer:\n  Version:  v${containerdVersion(host)} ${SIMULATED}`,
    );
  }
  return 0;
};

const STAND_IN = '/usr/lib/lab/call';
const EXECUTABLE = 0o755;

/** Only the etcd image can be mounted. Its programs are stand-ins that call the lab under their own names. */
const mountImage = async ({ files }: Host, image: string, target: string): Promise<void> => {
  if (!/\/etcd:/.test(image)) throw new CommandFault(`ctr: ${image} cannot be mounted ${SIMULATED}`);
  const standIn = (await files.readText(STAND_IN)) ?? '';
  for (const program of ['etcd', 'etcdctl', 'etcdutl'])
    await files.writeText(`${target}/usr/local/bin/${program}`, standIn, EXECUTABLE);
};

export const crictl: Command = async (call) => {
  const { host, args, out, world } = call;
  const parsed = parseArguments(args, [
    '--name',
    '--state',
    '-r',
    '--runtime-endpoint',
    '-o',
    '--output',
    '--label',
    '-i',
  ]);
  const [verb] = parsed.positional;
  if (parsed.has('--version', '-v')) {
    out(`crictl version v${installedVersion(host, 'cri-tools')} ${SIMULATED}`);
    return 0;
  }
  await requireRuntime(host);
  switch (verb) {
    case 'info':
      out(JSON.stringify({ status: { conditions: [{ type: 'RuntimeReady', status: true }] } }));
      return 0;
    case 'version':
      out(
        `Version:  0.1.0\nRuntimeName:  containerd\nRuntimeVersion:  v${containerdVersion(host)}\nRuntimeApiVersion:  v1`,
      );
      return 0;
    case 'ps': {
      const name = parsed.value('--name');
      const running = world.clusters.podsOn(host);
      const shown = running.filter((pod) => name === undefined || new RegExp(name).test(pod));
      if (parsed.has('-q', '--quiet')) for (const pod of shown) out(containerId(host, pod));
      else {
        out('CONTAINER       IMAGE    CREATED   STATE     NAME');
        for (const pod of shown) out(`${containerId(host, pod)}  -  -  Running  ${pod}`);
      }
      return 0;
    }
    case 'exec':
      return execInEtcd(call, containerId(host, 'etcd'), args.slice(args.indexOf('exec') + 1));
    case 'images':
    case 'pods':
    case 'pull':
    case 'config':
    case 'rmi':
    case 'stopp':
    case 'rmp':
      return 0;
    default:
      throw new CommandFault(`crictl: ${verb ?? 'no command'} is not simulated`);
  }
};

/**
 * Runs `exec [options] TARGET [--] etcdctl ARGUMENTS` in the etcd container or pod. No other program can run in a
 * simulated container.
 */
const execInEtcd = (call: CommandCall, target: string, args: readonly string[]): Promise<number> | number => {
  const program = args.indexOf('etcdctl');
  if (program === -1 || !args.slice(0, program).includes(target)) {
    throw new CommandFault(`${call.name}: exec of ${args.join(' ')} is not simulated by Fairlead lab`);
  }
  return etcdctl({ ...call, name: 'etcdctl', args: args.slice(program + 1) });
};

/** A stable ID per pod and host. */
const containerId = (host: Host, pod: string): string =>
  Buffer.from(`${pod}${host.facts.machineId}`).toString('hex').slice(0, 13);

export const kubelet: Command = ({ host, args, out }) => {
  if (!args.includes('--version')) throw new CommandFault(`kubelet: the lab runs it only as a unit ${SIMULATED}`);
  out(`Kubernetes v${installedVersion(host, 'kubelet')}`);
  return 0;
};

const WITH_VALUE = ['-o', '--output', '-n', '--namespace', '-c', '--container'];

/** `get --raw /metrics` of the host's own API server. */
const ownMetrics = async ({ host, world, out }: CommandCall, server: string): Promise<number> => {
  const metrics = server.includes(host.facts.address) ? await world.clusters.metricsOf(host) : undefined;
  if (metrics === undefined)
    throw new CommandFault(
      `The connection to the server ${server} was refused - did you specify the right host or port?`,
    );
  out(metrics.trimEnd());
  return 0;
};

/**
 * kubectl on a host prints its version, executes commands in the etcd pod and reads the metrics of its own API server.
 * All other calls of the API use kubectl of the real machine with the cluster's kubeconfig.
 */
export const kubectl: Command = (call) => {
  const { host, args, out } = call;
  const parsed = parseArguments(args, [...WITH_VALUE, '--kubeconfig', '--server', '--raw']);
  if (parsed.positional[0] === 'exec') return execInEtcd(call, `etcd-${host.record.membership?.nodeName ?? ''}`, args);
  if (parsed.positional[0] === 'get' && parsed.value('--raw') === '/metrics')
    return ownMetrics(call, parsed.value('--server') ?? '');
  if (parsed.positional[0] !== 'version') {
    throw new CommandFault(`kubectl: ${parsed.positional.join(' ')} is not simulated on a host ${SIMULATED}`);
  }
  const version = `v${installedVersion(host, 'kubectl')}`;
  if (parsed.value('-o', '--output') === 'json') {
    out(JSON.stringify({ clientVersion: { gitVersion: version, platform: 'linux/amd64' } }));
  } else out(`Client Version: ${version}`);
  return 0;
};
