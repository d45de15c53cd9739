import { refuse, type ClusterUid, type Fact, type NodeName, type SoftwareVersions } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

/** The node shall have this software. Asking for what is wanted already changes nothing. */
export type SetDesiredVersions = Command<
  'SetDesiredVersions',
  {
    readonly uid: ClusterUid;
    readonly node: NodeName;
    readonly software: SoftwareVersions;
    readonly changesAllowed: boolean;
  }
>;

export type Desired =
  | { readonly status: 'none' }
  | {
      readonly status: 'set';
      readonly uid: ClusterUid;
      readonly revision: number;
      readonly software: SoftwareVersions;
      readonly changesAllowed: boolean;
    };

const sameSoftware = (a: SoftwareVersions, b: SoftwareVersions): boolean => {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
};

const majorMinor = (version: string): readonly [number, number] => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return [major, minor];
};

const isLowerMinor = (from: string, to: string): boolean => {
  const [[fromMajor, fromMinor], [toMajor, toMinor]] = [majorMinor(from), majorMinor(to)];
  return toMajor < fromMajor || (toMajor === fromMajor && toMinor < fromMinor);
};

/** Kubernetes' own packages; only for these is a lower minor never safe (version skew policy; upgrade-safety A1). */
const KUBERNETES = ['kubeadm', 'kubelet', 'kubectl'] as const;

/** What is wanted of one node, revision by revision. Stream `desired-<node>`. */
export const desired: Decider<Desired, SetDesiredVersions, Fact<'DesiredVersionsSet'>> = {
  initial: { status: 'none' },

  decide: (state, { data }) => {
    // Another incarnation of the cluster begins anew.
    const before = state.status === 'set' && state.uid === data.uid ? state : undefined;
    if (before === undefined) return [{ type: 'DesiredVersionsSet', data: { ...data, revision: 1 } }];
    const { software, changesAllowed, revision } = before;
    if (sameSoftware(software, data.software) && changesAllowed === data.changesAllowed) return nothing;
    for (const name of KUBERNETES) {
      const [from, to] = [software[name], data.software[name]];
      if (from !== undefined && to !== undefined && isLowerMinor(from, to))
        return refuse('upgrade.minor-downgrade', { software: name, node: data.node, from, to });
    }
    return [{ type: 'DesiredVersionsSet', data: { ...data, revision: revision + 1 } }];
  },

  evolve: (state, event) => {
    if (event.type !== 'DesiredVersionsSet') return state;
    const { uid, revision, software, changesAllowed } = event.data;
    return { status: 'set', uid, revision, software, changesAllowed };
  },
};
