/** Faults of the lab, which is a simulation, and what each one causes. */
export const LAB_FAULTS = {
  'boot-failure': 'a machine that is created does not boot',
  'boot-slow': 'a machine that is created takes longer to boot',
  'ssh-slow': 'the SSH server of a machine answers slowly',
  'ssh-never': 'the SSH server of a machine never answers',
  'host-lost': 'a machine that runs is powered off, as by a broken power supply',
  'runtime-hung': 'the container runtime of a machine hangs until its next boot',
  'network-lost': 'the pod network of a machine loses its configuration until its next boot',
  'disk-full': 'the disk of a machine is full while the fault is set',
  'command-failure': 'a command on a machine fails, such as "kubeadm join"',
  'port-dropped': 'a machine drops connections from other machines, to one port or to all, while the fault is set',
  'upgrade-refused': 'kubeadm refuses to upgrade the cluster, in a dry run already',
  quota: 'a machine is not created, because a quota is exhausted',
  'delete-failure': 'a machine is not deleted',
  'reservation-denied': 'a reservation of machines is denied',
  'api-slow': "the lab's API answers slowly",
  'eviction-denied': 'the eviction of pods from a node is denied, as by an admission webhook (403)',
  'eviction-failure': 'the eviction of pods from a node fails, as by a webhook that is away (500)',
} as const;

export type LabFaultKind = keyof typeof LAB_FAULTS;
export const LAB_FAULT_KINDS = Object.keys(LAB_FAULTS) as [LabFaultKind, ...LabFaultKind[]];
