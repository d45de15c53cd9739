import type { NodeChange } from '@fairlead/contracts';

/** A renewal of certificates, and nothing else. kubeadm needs no API for it. */
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
