import { ExternalFailure } from '@fairlead/contracts';
import { renderStep } from '@fairlead/node-scripts';
import { hasExternalEtcd, hostsOf, isControlPlane, type Host } from '../bootstrap/bootstrap.state.js';
import type { RunningTask } from '../bootstrap/running.task.js';
import type { HostAccess, HostWorker } from '../hosts/host.access.js';

/** Tries the other joined control planes, one after the other, until one succeeds. */
export const onAnother = async <T>(
  hosts: HostAccess,
  step: RunningTask,
  { machine: { name } }: Host,
  { operation, work }: { readonly operation: string; readonly work: (worker: HostWorker, on: Host) => Promise<T> },
): Promise<T> => {
  const others = hostsOf(step.state.cluster).filter(
    (host) => isControlPlane(host) && host.joinedAt !== null && host.machine.name !== name,
  );
  let failure: unknown = new ExternalFailure({
    operation,
    target: name,
    message: 'it is the only control plane',
    retryable: false,
  });
  for (const other of others) {
    try {
      return await hosts.onIfAlive(other, step, (worker) => work(worker, other));
    } catch (error) {
      step.signal.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
};

/**
 * Removes a control plane's member from etcd, through a remaining one; a missing member is not a failure. It precedes
 * any loss of the member's data: etcd must never count on a member that will not return.
 */
export const leaveEtcd = async (hosts: HostAccess, step: RunningTask, leaving: Host): Promise<void> => {
  const { name: member, privateIp: address } = leaving.machine;
  const external = hasExternalEtcd(step.state.cluster);
  await onAnother(hosts, step, leaving, {
    operation: 'remove the etcd member',
    work: (worker, { machine: { name: self } }) =>
      worker.run(renderStep('etcd-remove-member', { member, address, self, external })),
  });
};

/** For an external etcd, a static pod of Fairlead's makes its member accessible over the Kubernetes API. */
export const runEtcdctl = async (hosts: HostAccess, step: RunningTask, host: Host): Promise<void> => {
  if (hasExternalEtcd(step.state.cluster))
    await hosts.on(host, step, (worker) => worker.run(renderStep('etcdctl', {})));
};
