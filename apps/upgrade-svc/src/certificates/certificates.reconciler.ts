import type { Fact } from '@fairlead/contracts';
import type { Reconciler } from '@fairlead/event-sourcing';
import { certificates, warnAt, warnings, type Certificates } from './certificates.decider.js';

/** Warns about certificates of nodes when a warning is due: in time to renew them, or because a kubelet has not. */
export const certificatesReconciler: Reconciler<Certificates, never, Fact<'CertificatesExpiring'>> = {
  name: 'certificates',
  version: 4,
  context: 'rollout',
  decider: certificates,
  generation: ({ uid }) => uid ?? '',
  tasks: () => [],
  facts: warnings,

  wakeAt: (state, now) =>
    Object.keys(state.nodes)
      .flatMap((node) => warnAt(state, node) ?? [])
      .filter((moment) => moment > now)
      .toSorted()[0] ?? null,
};
