import type { NodeChange } from '@fairlead/contracts';

/** A renewal of certificates only, for which kubeadm needs no API. */
export const renewalOf = (id: string): NodeChange => ({
  id,
  kubeadm: null,
  kubernetes: null,
  renewCertificates: true,
  reboot: false,
  balancedEndpoint: null,
  stopApiServerFirst: false,
  emulatedVersion: null,
});
