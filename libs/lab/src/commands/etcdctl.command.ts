import type { Cluster } from '../clusters/clusters.js';
import { parseArguments } from './arguments.js';
import { CommandFault, type Command, type CommandCall } from './command.js';

const OPTIONS_WITH_VALUE = ['--endpoints', '--cacert', '--cert', '--key', '--command-timeout', '-w', '--write-out'];

/** etcdctl of a control plane: `member list`, `member remove`, `endpoint health --cluster`, `endpoint status`. */
export const etcdctl: Command = (call) => {
  const { host, world } = call;
  const cluster = world.clusters.of(host);
  if (cluster === undefined || !world.clusters.servesApi(host)) {
    throw new CommandFault('Error: context deadline exceeded: dial tcp 127.0.0.1:2379: connect: connection refused');
  }
  const parsed = parseArguments(call.args, OPTIONS_WITH_VALUE);
  const [subject, verb, argument] = parsed.positional;
  switch (`${subject} ${verb}`) {
    case 'member list':
      return listMembers(call, cluster);
    case 'member remove':
      return removeMember(call, cluster, argument ?? '');
    case 'endpoint health':
    case 'endpoint status':
      return endpointHealth(call, cluster);
    default:
      throw new CommandFault(`Error: etcdctl ${subject ?? ''} ${verb ?? ''} is not simulated by Fairlead lab`);
  }
};

const listMembers = ({ out }: CommandCall, { kubernetes }: Cluster): number => {
  for (const { id, name, peerUrl, clientUrl } of kubernetes.etcdMembers()) {
    out(`${id}, started, ${name}, ${peerUrl}, ${clientUrl}, false`);
  }
  return 0;
};

const removeMember = ({ out }: CommandCall, { kubernetes, id: clusterId }: Cluster, id: string): number => {
  const member = kubernetes.etcdMembers().find((candidate) => candidate.id === id);
  if (member === undefined) throw new CommandFault('Error: etcdserver: member not found');
  if (!kubernetes.hasQuorum()) throw new CommandFault('Error: etcdserver: request timed out');
  kubernetes.removeEtcdMember(member.name);
  out(`Member ${id} removed from cluster ${clusterId.replaceAll('-', '').slice(0, 16)}`);
  return 0;
};

const endpointHealth = ({ out, err }: CommandCall, { kubernetes }: Cluster): number => {
  let exitCode = 0;
  for (const { clientUrl, running } of kubernetes.etcdMembers()) {
    if (running && kubernetes.hasQuorum()) {
      out(`${clientUrl} is healthy: successfully committed proposal: took = 2.1ms`);
      continue;
    }
    err(`${clientUrl} is unhealthy: failed to commit proposal: context deadline exceeded`);
    exitCode = 1;
  }
  return exitCode;
};
