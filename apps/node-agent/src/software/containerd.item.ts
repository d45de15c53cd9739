import type { Difference } from '../agent/agent.decider.js';
import type { HostPort } from '../agent/agent.ports.js';
import { fileDifference, mustRun, replaceFile, succeeds, type Item } from './item.js';

const FILE = '/etc/containerd/config.toml';
const SERVICE = 'containerd';

/** kubeadm's own pause image by minor (kubernetes, cmd/kubeadm/app/constants PauseVersion). Newest first. */
const PAUSE_BY_MINOR: readonly (readonly [minor: number, pause: string])[] = [
  [34, '3.10.1'],
  [31, '3.10'],
  [0, '3.9'],
];

export const pauseImageOf = (kubernetesVersion: string): string => {
  const minor = Number(kubernetesVersion.split('.')[1] ?? 0);
  const pause = PAUSE_BY_MINOR.find(([from]) => minor >= from)?.[1] ?? '3.9';
  return `registry.k8s.io/pause:${pause}`;
};

/** kubelet and runtime must agree on the cgroup driver; systemd is kubeadm's default. CNI plugins are where kubernetes-cni puts them. */
export const containerdConfig = (pauseImage: string): string => `# Written by Fairlead.
version = 2

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${pauseImage}"

[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/opt/cni/bin"
  conf_dir = "/etc/cni/net.d"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = true
`;

/** The container runtime is configured, starts at boot and runs. */
export const containerdItem = (host: HostPort, kubernetesVersion: string): Item => {
  const text = containerdConfig(pauseImageOf(kubernetesVersion));
  const item = 'container-runtime';
  return {
    name: item,

    inspect: async () => {
      const differences: Difference[] = [...(await fileDifference(host, item, FILE, text))];
      if (!(await succeeds(host, 'systemctl', ['is-enabled', '--quiet', SERVICE])))
        differences.push({ item, what: 'boot', observed: 'not enabled', wanted: 'enabled' });
      if (!(await succeeds(host, 'systemctl', ['is-active', '--quiet', SERVICE])))
        differences.push({ item, what: 'service', observed: 'not running', wanted: 'running' });
      return differences;
    },

    ensure: async (differences) => {
      const differs = (part: string): boolean => differences.some(({ what }) => what === part);
      if (differs(FILE)) {
        // A crash between the file and the restart would leave the old configuration running and nothing to see it by.
        await mustRun(host, 'systemctl', ['stop', SERVICE]);
        await replaceFile(host, FILE, text, 0o644);
      }
      if (differs('boot')) await mustRun(host, 'systemctl', ['enable', SERVICE]);
      await mustRun(host, 'systemctl', ['start', SERVICE]);
    },
  };
};
