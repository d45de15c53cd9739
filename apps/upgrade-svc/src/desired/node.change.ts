import type { NodeChange, RebootCondition } from '@fairlead/contracts';

const NOTHING: Omit<NodeChange, 'id'> = {
  kubeadm: null,
  kubernetes: null,
  renewCertificates: false,
  reboot: false,
  balancedEndpoint: null,
  stopApiServerFirst: false,
  emulatedVersion: null,
};

/** A change that only reboots. */
export const rebootOf = (id: string, unlessBooted?: RebootCondition): NodeChange => ({
  ...NOTHING,
  ...{ id, reboot: true },
  ...(unlessBooted === undefined ? {} : { unlessBooted }),
});

/** A change that only makes the host as desired. */
export const repairOf = (id: string): NodeChange => ({ ...NOTHING, id });
