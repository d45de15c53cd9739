/** Interfaces created by Kubernetes and the supported network plugins. */
export const DEVICES =
  '^(cni0|flannel([.]|-v6[.])[0-9]+|kube-ipvs0|kube-bridge|nodelocaldns|kilo0|cali[0-9a-f]+|vxlan([.]|-v6[.])calico|wireguard([.]|-v6[.])cali|cilium_.*|lxc[0-9a-f]+|lxc_health)$';
