import type { Difference } from '../node/difference.js';
import type { HostPort } from '../node/host.ports.js';
import { fileDifference, mustRun, replaceFile, type Item } from './item.js';

const ITEM = 'kubelet-unit';
const UNIT = 'kubelet.service';
const STALE = 'systemd';
const ENDING = '/etc/fairlead/end-containers.sh';

/**
 * The files of Kubernetes' own packages (kubernetes/release, cmd/krel/templates), for a kubelet installed from a file.
 */
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
ExecStopPost=-/bin/sh ${ENDING}
`;

/**
 * A container's init process ignores SIGTERM unless it handles it, so a shutdown would wait for systemd's limit of 90
 * s. The kubelet stops before the runtime, so this is the time to stop its containers: first with SIGTERM, then with
 * SIGKILL.
 */
export const ENDING_TEXT = `#!/bin/sh
# Written by Fairlead. Runs whenever the kubelet has stopped, and ends its containers only when the host goes down.
[ "$(systemctl is-system-running)" = stopping ] || exit 0
running() {
  timeout 5 ctr -n k8s.io tasks ls | awk '$3 == "RUNNING" { print $1 }'
}
end() {
  for task in $(running); do timeout 5 ctr -n k8s.io tasks kill --signal "$1" "$task" & done
  wait
}
end SIGTERM
for _ in 1 2 3 4 5 6 7 8 9 10; do
  [ -n "$(running)" ] || exit 0
  sleep 1
done
end SIGKILL
`;

const FILES: Readonly<Record<string, string>> = {
  [ENDING]: ENDING_TEXT,
  [`/etc/systemd/system/${UNIT}`]: UNIT_TEXT,
  [`/etc/systemd/system/${UNIT}.d/10-kubeadm.conf`]: DROP_IN_TEXT,
};

/** The kubelet's unit as kubeadm expects it, loaded by systemd. */
export const kubeletUnitItem = (host: HostPort): Item => ({
  name: ITEM,

  inspect: async () => {
    const differences: Difference[] = [];
    for (const [path, text] of Object.entries(FILES))
      differences.push(...(await fileDifference(host, ITEM, path, text)));
    if (differences.length > 0) return differences;
    // After a crash between the files and the reload, systemd has the old units, or none.
    const shown = await mustRun(host, 'systemctl', ['show', '--property=LoadState,NeedDaemonReload', UNIT]);
    if (shown.includes('LoadState=loaded') && shown.includes('NeedDaemonReload=no')) return [];
    return [{ item: ITEM, what: STALE, observed: 'knows other units', desired: 'knows the unit' }];
  },

  ensure: async (differences) => {
    for (const [path, text] of Object.entries(FILES))
      if (differences.some(({ what }) => what === path)) await replaceFile(host, path, text, 0o644);
    await mustRun(host, 'systemctl', ['daemon-reload']);
  },
});
