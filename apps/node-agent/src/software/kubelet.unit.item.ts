import type { Difference } from '../agent/agent.decider.js';
import type { HostPort } from '../agent/agent.ports.js';
import { fileDifference, mustRun, replaceFile, type Item } from './item.js';

const ITEM = 'kubelet-unit';
const UNIT = 'kubelet.service';
const STALE = 'systemd';

/** What Kubernetes' own packages bring (kubernetes/release, cmd/krel/templates), for a kubelet that comes as a file. */
const UNIT_TEXT = `# Written by Fairlead.
[Unit]
Description=kubelet: The Kubernetes Node Agent
Documentation=https://kubernetes.io/docs/
Wants=network-online.target containerd.service
After=network-online.target containerd.service
StartLimitIntervalSec=0

[Service]
ExecStart=/usr/bin/kubelet
Restart=always
RestartSec=2

[Install]
WantedBy=multi-user.target
`;

const DROP_IN_TEXT = `# Written by Fairlead.
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
# kubeadm writes what differs from node to node; people may write the other one.
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
`;

const FILES: Readonly<Record<string, string>> = {
  [`/etc/systemd/system/${UNIT}`]: UNIT_TEXT,
  [`/etc/systemd/system/${UNIT}.d/10-kubeadm.conf`]: DROP_IN_TEXT,
};

/** The kubelet's unit as kubeadm expects it, known to systemd. */
export const kubeletUnitItem = (host: HostPort): Item => ({
  name: ITEM,

  inspect: async () => {
    const differences: Difference[] = [];
    for (const [path, text] of Object.entries(FILES))
      differences.push(...(await fileDifference(host, ITEM, path, text)));
    if (differences.length > 0) return differences;
    // A crash between the files and the reload leaves a systemd that knows the old ones, or none.
    const shown = await mustRun(host, 'systemctl', ['show', '--property=LoadState,NeedDaemonReload', UNIT]);
    if (shown.includes('LoadState=loaded') && shown.includes('NeedDaemonReload=no')) return [];
    return [{ item: ITEM, what: STALE, observed: 'knows other units', wanted: 'knows the unit' }];
  },

  ensure: async (differences) => {
    for (const [path, text] of Object.entries(FILES))
      if (differences.some(({ what }) => what === path)) await replaceFile(host, path, text, 0o644);
    await mustRun(host, 'systemctl', ['daemon-reload']);
  },
});
