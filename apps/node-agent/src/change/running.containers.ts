import type { HostPort } from '../node/host.ports.js';
import { mustRun } from '../software/item.js';

const CTR = ['-n', 'k8s.io'];
const TIMEOUT_MS = 120_000;

/** Of these containers, one id a line, those that run: `ctr tasks ls` has id, process and status in a line. */
export const runningOf = (containers: string, tasks: string): readonly string[] => {
  const running = new Set(
    tasks.split('\n').flatMap((line) => {
      const [id = '', , status] = line.trim().split(/\s+/);
      return status === 'RUNNING' ? [id] : [];
    }),
  );
  return containers.split('\n').filter((id) => running.has(id));
};

/** Ids of the containers of a static pod that run: of this host, by the labels that the kubelet gives them. */
export const runningContainers = async (host: HostPort, name: string): Promise<readonly string[]> => {
  const labels = `labels."io.kubernetes.container.name"==${name},labels."io.kubernetes.pod.namespace"==kube-system`;
  const containers = await mustRun(host, 'ctr', [...CTR, 'containers', 'ls', '-q', labels], TIMEOUT_MS);
  if (containers.trim() === '') return [];
  return runningOf(containers, await mustRun(host, 'ctr', [...CTR, 'tasks', 'ls'], TIMEOUT_MS));
};
