import type { Difference } from '../node/difference.js';
import type { HostPort } from '../node/host.ports.js';
import { mustRun, type Item } from './item.js';
import { unitState } from './unit.state.js';

const SERVICE = 'kubelet';
/** Written by kubeadm; the kubelet cannot run without it. */
const CONFIGURATION = '/etc/kubernetes/kubelet.conf';

/** The kubelet is enabled. kubeadm starts it for the first time, once it has a configuration; from then on it runs. */
export const kubeletItem = (host: HostPort, hasBeenReady: boolean): Item => ({
  name: 'kubelet-service',

  inspect: async () => {
    const differences: Difference[] = [];
    const item = 'kubelet-service';
    const { enabled, active } = await unitState(host, SERVICE);
    if (!enabled) differences.push({ item, what: 'boot', observed: 'not enabled', desired: 'enabled' });
    if (!hasBeenReady || !(await host.exists(CONFIGURATION))) return differences;
    if (!active) differences.push({ item, what: 'service', observed: 'not running', desired: 'running' });
    return differences;
  },

  ensure: async (differences) => {
    const differs = (part: string): boolean => differences.some(({ what }) => what === part);
    if (differs('boot')) await mustRun(host, 'systemctl', ['enable', SERVICE]);
    if (differs('service')) await mustRun(host, 'systemctl', ['start', SERVICE]);
  },
});
