import { CRI_SOCKET } from '../kubeadm/kubeadm.types.js';

/** Undoes what an interrupted kubeadm left behind, so that it can begin anew. */
export const CLEAN_KUBEADM = `    run kubeadm reset --force --cri-socket ${CRI_SOCKET}
    rm -rf "$root/var/lib/etcd" "$root/etc/kubernetes/manifests" "$root/etc/kubernetes/pki"
    rm -f "$root"/etc/kubernetes/*.conf`;
