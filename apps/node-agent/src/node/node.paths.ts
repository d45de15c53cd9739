/** The kubelet's own credentials, written by `kubeadm init` and `kubeadm join`. */
export const KUBELET_CONF = '/etc/kubernetes/kubelet.conf';
