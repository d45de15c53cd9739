import { etcdctl as etcdctlTool } from '../kubernetes/etcd/etcd.tools.js';
import { CommandFault, type Command } from './command.js';

const withoutNewline = (text: string): string => text.replace(/\n$/, '');

/** etcdctl of a control plane, as its host's shell reaches it. What it saves is forgotten with the call. */
export const etcdctl: Command = ({ host, world, args, out, err }) => {
  const cluster = world.clusters.of(host);
  const self = host.record.membership?.nodeName;
  if (cluster === undefined || self === undefined || !world.clusters.servesApi(host)) {
    throw new CommandFault('Error: context deadline exceeded: dial tcp 127.0.0.1:2379: connect: connection refused');
  }
  const call = { etcd: cluster.kubernetes.etcd.underTool(), self, files: new Map<string, Buffer>() };
  const { stdout, stderr, exitCode } = etcdctlTool(call, args);
  if (stdout.length > 0) out(withoutNewline(stdout.toString()));
  if (stderr !== '') err(withoutNewline(stderr));
  return exitCode;
};
