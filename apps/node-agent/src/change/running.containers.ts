import type { HostPort } from '../node/host.ports.js';
import { mustRun } from '../software/item.js';

const CTR = ['-n', 'k8s.io'];
const TIMEOUT_MS = 120_000;

/** The running ones of these container IDs, one per line; `ctr tasks ls` prints ID, process and status per line. */
export const runningOf = (containers: string, tasks: string): readonly string[] => {
  const running = new Set(
    tasks.split('\n').flatMap((line) => {
      const [id = '', , status] = line.trim().split(/\s+/);
      return status === 'RUNNING' ? [id] : [];
    }),
  );
  return containers.split('\n').filter((id) => running.has(id));
};

/** The IDs of a static pod's running containers on this host, by the kubelet's labels. */
export const runningContainers = async (host: HostPort, name: string): Promise<readonly string[]> => {
  const labels = `labels."io.kubernetes.container.name"==${name},labels."io.kubernetes.pod.namespace"==kube-system`;
  const containers = await mustRun(host, 'ctr', [...CTR, 'containers', 'ls', '-q', labels], TIMEOUT_MS);
  if (containers.trim() === '') return [];
  return runningOf(containers, await mustRun(host, 'ctr', [...CTR, 'tasks', 'ls'], TIMEOUT_MS));
};
