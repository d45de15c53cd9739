import type { NodeChange, RebootCondition } from '@fairlead/contracts';

/** A change that only reboots. */
export const rebootOf = (id: string, unlessBooted?: RebootCondition): NodeChange => ({
  id,
  kubeadm: null,
  kubernetes: null,
  renewCertificates: false,
  reboot: true,
  balancedEndpoint: null,
  stopApiServerFirst: false,
  emulatedVersion: null,
  ...(unlessBooted === undefined ? {} : { unlessBooted }),
});
