import { WorldFailure } from '@fairlead/contracts';
import { renderStep } from '@fairlead/node-scripts';
import { hasExternalEtcd, hostsOf, isControlPlane, type Host } from '../bootstrap/bootstrap.state.js';
import type { Step } from '../bootstrap/step.js';
import type { HostAccess } from '../hosts/host.access.js';

/**
 * Takes a control plane's member out of etcd, from a survivor; a member that is not in etcd is not a failure. It comes before
 * whatever makes the member's data vanish: etcd must never count on a member that will not come back.
 */
export const leaveEtcd = async (hosts: HostAccess, step: Step, leaving: Host): Promise<void> => {
  const { name, privateIp } = leaving.machine;
  if (hasExternalEtcd(step.state.cluster)) {
    const message = 'members of an external etcd cannot be changed yet';
    throw new WorldFailure({ operation: 'remove the etcd member', target: name, message, retryable: false });
  }
  const survivors = hostsOf(step.state.cluster).filter(
    (host) => isControlPlane(host) && host.joinedAt !== null && host.machine.name !== name,
  );
  let failure: unknown = new WorldFailure({
    operation: 'remove the etcd member',
    target: name,
    message: 'it is the only control plane',
    retryable: false,
  });
  for (const survivor of survivors) {
    const rendered = renderStep('etcd-remove-member', {
      member: name,
      address: privateIp,
      self: survivor.machine.name,
    });
    try {
      await hosts.onIfAlive(survivor, step, (worker) => worker.run(rendered));
      return;
    } catch (error) {
      step.signal.throwIfAborted();
      failure = error;
    }
  }
  throw failure;
};
