import { releaseOf, softwareOf, type ClusterUid, type NodeName, type SoftwareVersions } from '@fairlead/contracts';
import { job, type Process } from '@fairlead/event-sourcing';

/** What of a cluster says which software its nodes shall have. */
export type Wanted =
  { readonly status: 'none' } | { readonly status: 'wanted'; readonly uid: ClusterUid; readonly version: string };

/** Data of the job: these nodes shall have this software, unless they are gone by then. */
export interface SetDesired {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly nodes: readonly NodeName[];
  readonly software: SoftwareVersions;
}

const softwareFor = (version: string): SoftwareVersions => {
  const release = releaseOf(version);
  // The gateway refuses unknown versions, so this is a release that lost a row of its catalogue.
  if (release === undefined) throw new Error(`no release ${version} in the catalogue`);
  return softwareOf(release);
};

/** New machines get the versions of their cluster as soon as all of them run. */
export const desiredProcess: Process<Wanted> = {
  name: 'desired-versions',
  version: 1,
  initial: { status: 'none' },

  evolve: (state, event) => {
    switch (event.type) {
      case 'ClusterRequested':
        return { status: 'wanted', uid: event.data.uid, version: event.data.spec.kubernetes.version };
      case 'ClusterDeleted':
        return state.status === 'wanted' && state.uid === event.data.uid ? undefined : state;
      default:
        return state;
    }
  },

  react: (state, event) => {
    if (event.type !== 'VmsCreated' || state.status !== 'wanted' || event.data.uid !== state.uid) return [];
    const { uid, machines } = event.data;
    const data: SetDesired = { uid, nodes: machines.map(({ name }) => name), software: softwareFor(state.version) };
    return [job('SetDesiredVersions', data)];
  },
};
