import { AUTHENTICATION_FILE } from '../kubeadm/authentication.config.js';
import { writeFile } from '../shell/script.js';
import { CRI_SOCKET, type ClusterSettings } from '../kubeadm/kubeadm.types.js';

/** Empties a folder without removing it: etcd's is often a separate disk, and a mount point cannot be removed. */
export const emptyFolder = (path: string): string =>
  `if [ -d "$root${path}" ]; then find "$root${path}" -mindepth 1 -maxdepth 1 -exec rm -rf {} +; fi`;

/** Cleans up an interrupted kubeadm, so that it can be started again. An external etcd is left alone. */
export const cleanKubeadm = ({ etcdEndpoints }: Pick<ClusterSettings, 'etcdEndpoints'>): string =>
  [
    `run kubeadm reset --force --cri-socket ${CRI_SOCKET}`,
    ...(etcdEndpoints === null ? [emptyFolder('/var/lib/etcd')] : []),
    'rm -rf "$root/etc/kubernetes/manifests" "$root/etc/kubernetes/pki"',
    'rm -f "$root"/etc/kubernetes/*.conf',
  ]
    .map((line) => `    ${line}`)
    .join('\n');

/** The API server of a control plane does not start without it. Contains no secret. */
export const authenticationFile = ({ authentication }: Pick<ClusterSettings, 'authentication'>): string =>
  authentication === undefined ? '' : writeFile(AUTHENTICATION_FILE, '644', authentication);
