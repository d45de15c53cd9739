import type { EventData, SoftwareVersions } from '@fairlead/contracts';
import { rowsBeyondBuiltIn, type OwnReleases } from '@fairlead/domain';

/** The releases of this software that are not built into the agent. */
export const releasesFor = (
  own: OwnReleases,
  ...software: readonly SoftwareVersions[]
): Pick<EventData<'DesiredVersionsSet'>, 'releases'> => {
  const versions = software.flatMap(({ kubelet, kubeadm = kubelet }) =>
    kubeadm === undefined ? [] : [`v${kubeadm}`, `v${kubelet ?? kubeadm}`],
  );
  const releases = rowsBeyondBuiltIn(own, versions);
  return releases.length === 0 ? {} : { releases: [...releases] };
};
