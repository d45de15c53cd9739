import { ExternalFailure } from '@fairlead/contracts';
import { renderStep } from '@fairlead/node-scripts';
import type { Host } from '../bootstrap/bootstrap.state.js';
import type { RunningTask } from '../bootstrap/running.task.js';
import type { HostAccess, HostWorker } from '../hosts/host.access.js';
import { peersOf, portsFrom, portsOn, portsSentence, unreachedPorts, type CheckedPort } from './ports.planner.js';

/** Firewalls of nodes learn about a new one within seconds. */
const PATIENCE_SECONDS = 30;

const answersOf = async (worker: HostWorker, ports: readonly CheckedPort[]) => {
  const targets = ports.map(({ address, port, need }) => ({ address, port, need }));
  return (await worker.run(renderStep('check-ports', { targets, patienceSeconds: PATIENCE_SECONDS }))).answers;
};

const refuseUnreached = (host: Host, unreached: readonly string[]): void => {
  if (unreached.length === 0) return;
  const { name: target } = host.machine;
  throw new ExternalFailure({ operation: 'check ports between nodes', target, message: portsSentence(unreached) });
};

/**
 * Fails if the new host does not reach the API, or ports of control planes that are there: kubeadm would only time out,
 * minutes later and without the port. `alive`: control planes that are known to run.
 */
export const checkPortsFrom = async (
  worker: HostWorker,
  step: RunningTask,
  host: Host,
  alive: ReadonlySet<string> = new Set(),
): Promise<void> => {
  const ports = portsFrom(step.state.cluster, host);
  if (ports.length === 0) return;
  const answers = await answersOf(worker, ports);
  refuseUnreached(host, unreachedPorts({ source: host.machine.name, ports, answers, alive }));
};

/** The control planes that could be asked, each of which reaches the new one; fails if one does not. */
export const checkPortsOn = async (hosts: HostAccess, step: RunningTask, host: Host): Promise<ReadonlySet<string>> => {
  const ports = portsOn(host);
  const alive = new Set([host.machine.name as string]);
  const checked = await Promise.all(
    peersOf(step.state.cluster, host).map(async (peer) => {
      const source = peer.machine.name;
      const answers = await ifAlive(hosts, step, peer, ports);
      if (answers === undefined) return { source, unreached: [] as readonly string[], isAlive: false };
      return { source, unreached: unreachedPorts({ source, ports, answers, alive }), isAlive: true };
    }),
  );
  refuseUnreached(
    host,
    checked.flatMap(({ unreached }) => unreached),
  );
  return new Set(checked.flatMap(({ source, isAlive }) => (isAlive ? [source as string] : [])));
};

/** undefined: the control plane cannot be asked, which is up to its health, not to this join. */
const ifAlive = async (hosts: HostAccess, step: RunningTask, peer: Host, ports: readonly CheckedPort[]) => {
  try {
    return await hosts.onIfAlive(peer, step, (worker) => answersOf(worker, ports));
  } catch (error) {
    if (error instanceof ExternalFailure && !step.signal.aborted) return undefined;
    throw error;
  }
};
