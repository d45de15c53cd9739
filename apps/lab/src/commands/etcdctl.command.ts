import { etcdctl as etcdctlTool } from '../kubernetes/etcd/etcd.tools.js';
import type { UnitEtcd } from '../clusters/clusters.js';
import type { Host } from '../hosts/host.js';
import { CommandFault, type Command, type CommandWorld } from './command.js';
import { scratchEtcdctl } from './scratch.etcd.js';

const withoutNewline = (text: string): string => text.replace(/\n$/, '');

const containerEtcdOf = (host: Host, { clusters }: CommandWorld): UnitEtcd | undefined => {
  const cluster = clusters.of(host);
  const self = host.record.membership?.nodeName;
  if (cluster === undefined || self === undefined || !clusters.servesApi(host)) return undefined;
  return { self, etcd: cluster.kubernetes.etcd.underTool() };
};

/** etcdctl of a control plane, as called from its host's shell. Its settings are not kept between calls. */
export const etcdctl: Command = async (call) => {
  const answered = scratchEtcdctl(call);
  if (answered !== undefined) return answered;
  const { host, world, args, out, err } = call;
  const reached = (await world.clusters.unitEtcdOf(host)) ?? containerEtcdOf(host, world);
  if (reached === undefined) {
    throw new CommandFault('Error: context deadline exceeded: dial tcp 127.0.0.1:2379: connect: connection refused');
  }
  const tool = { ...reached, files: new Map<string, Buffer>() };
  const { stdout, stderr, exitCode } = etcdctlTool(tool, args);
  if (stdout.length > 0) out(withoutNewline(stdout.toString()));
  if (stderr !== '') err(withoutNewline(stderr));
  return exitCode;
};
