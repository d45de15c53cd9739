import {
  refuse,
  type ClusterUid,
  type EventData,
  type Fact,
  type NodeChange,
  type NodeName,
  type Probe,
  type Refusal,
  type SoftwareVersions,
} from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

type Wanted = Omit<EventData<'DesiredVersionsSet'>, 'revision'>;

/** The node shall have this software. Asking for what is wanted already changes nothing. */
export type SetDesiredVersions = Command<
  'SetDesiredVersions',
  Omit<Wanted, 'probes'> & {
    /** A failed worker gets its former software back (G3): the only way to a lower minor. */
    readonly rollback?: boolean;
  }
>;

/** The node shall do this once; its software stays what it is. */
export type AskForChange = Command<
  'AskForChange',
  { readonly uid: ClusterUid; readonly node: NodeName; readonly change: NodeChange }
>;

/** The agent may no longer change the node; a change that was asked for is no longer. `software`: what stays wanted. */
export type WithdrawPermission = Command<
  'WithdrawPermission',
  {
    readonly uid: ClusterUid;
    readonly node: NodeName;
    readonly software?: SoftwareVersions;
    /** Only if no upgrade has asked for a change of the node by now. */
    readonly idle?: boolean;
  }
>;

/** The node asks these all the time from now on, whatever else becomes wanted of it; none: it asks no more. */
export type SetProbes = Command<
  'SetProbes',
  { readonly uid: ClusterUid; readonly node: NodeName; readonly probes: readonly Probe[] }
>;

export type Desired = { readonly status: 'none' } | ({ readonly status: 'set' } & EventData<'DesiredVersionsSet'>);

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

/** Kubernetes' own packages; only for these is a lower minor never safe (version skew policy; rule A1). */
const KUBERNETES = ['kubeadm', 'kubelet', 'kubectl'] as const;

const sameText = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

const isSame = (before: Wanted, wanted: Wanted): boolean =>
  sameSoftware(before.software, wanted.software) &&
  before.changesAllowed === wanted.changesAllowed &&
  before.change?.id === wanted.change?.id &&
  before.change?.kubeadm === wanted.change?.kubeadm &&
  sameText(before.stage, wanted.stage) &&
  sameText(before.probes ?? [], wanted.probes ?? []);

const lowerMinor = (before: Wanted, wanted: Wanted): Refusal | undefined => {
  for (const name of KUBERNETES) {
    const [from, to] = [before.software[name], wanted.software[name]];
    if (from !== undefined && to !== undefined && isLowerMinor(from, to))
      return refuse('upgrade.minor-downgrade', { software: name, node: wanted.node, from, to });
  }
  return undefined;
};

export type DesiredCommand = SetDesiredVersions | AskForChange | WithdrawPermission | SetProbes;

type DesiredFact = Fact<'DesiredVersionsSet'>;

const set = (before: (Wanted & { readonly revision: number }) | undefined, wanted: Wanted): readonly DesiredFact[] => {
  if (before === undefined) return [{ type: 'DesiredVersionsSet', data: { ...wanted, revision: 1 } }];
  if (isSame(before, wanted)) return nothing;
  return [{ type: 'DesiredVersionsSet', data: { ...wanted, revision: before.revision + 1 } }];
};

const asking = (probes: readonly Probe[] | undefined): Pick<Wanted, 'probes'> =>
  probes === undefined || probes.length === 0 ? {} : { probes: [...probes] };

/** What is wanted of one node, revision by revision. Stream `desired-<node>`. */
export const desired: Decider<Desired, DesiredCommand, DesiredFact> = {
  initial: { status: 'none' },

  decide: (state, command) => {
    // Another incarnation of the cluster begins anew.
    const before = state.status === 'set' && state.uid === command.data.uid ? state : undefined;
    switch (command.type) {
      case 'SetDesiredVersions': {
        const { rollback = false, ...wanted } = command.data;
        const refused = before === undefined || rollback ? undefined : lowerMinor(before, wanted);
        return refused ?? set(before, { ...wanted, ...asking(before?.probes) });
      }
      case 'AskForChange': {
        const { uid, node, change } = command.data;
        if (before === undefined) return nothing;
        const { software, probes } = before;
        return set(before, { uid, node, software, changesAllowed: true, change, ...asking(probes) });
      }
      case 'WithdrawPermission': {
        const { uid, node, idle = false } = command.data;
        if (before === undefined || (idle && before.change !== undefined)) return nothing;
        const { software = before.software } = command.data;
        return set(before, { uid, node, software, changesAllowed: false, ...asking(before.probes) });
      }
      case 'SetProbes': {
        if (before === undefined) return nothing;
        const { revision: _revision, status: _status, probes: _probes, ...wanted } = before;
        return set(before, { ...wanted, ...asking(command.data.probes) });
      }
    }
  },

  evolve: (state, event) => (event.type === 'DesiredVersionsSet' ? { status: 'set', ...event.data } : state),
};
