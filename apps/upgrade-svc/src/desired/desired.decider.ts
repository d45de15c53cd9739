import {
  type ClusterUid,
  type EventData,
  type Fact,
  minorsAhead,
  type NodeChange,
  type NodeName,
  parseVersion,
  type Probe,
  type Refusal,
  refuse,
  type SoftwareVersions,
} from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

type DesiredVersions = Omit<EventData<'DesiredVersionsSet'>, 'revision'>;

/** The node must have this software. Has no effect if that is already desired. */
export type SetDesiredVersions = Command<
  'SetDesiredVersions',
  Omit<DesiredVersions, 'probes'> & {
    /** A failed worker gets its former software back (G3): the only way to a lower minor version. */
    readonly rollback?: boolean;
  }
>;

/** The node must make this change once; its software remains unchanged. */
export type AskForChange = Command<
  'AskForChange',
  { readonly uid: ClusterUid; readonly node: NodeName; readonly change: NodeChange }
>;

/**
 * Withdraws the agent's permission to change the node, and a requested change. `software`: the software that remains
 * desired.
 */
export type WithdrawPermission = Command<
  'WithdrawPermission',
  {
    readonly uid: ClusterUid;
    readonly node: NodeName;
    readonly software?: SoftwareVersions;
    /** Only if no upgrade has requested a change of the node in the meantime. */
    readonly idle?: boolean;
    /** Only while this change is the requested one. */
    readonly change?: string;
  }
>;

/**
 * Permits the agent to repair differences that need no drain, until it is Ready with this revision; nothing else
 * changes.
 */
export type AllowRepair = Command<
  'AllowRepair',
  { readonly uid: ClusterUid; readonly node: NodeName; readonly repair: string }
>;

/** The probes that the node runs from now on, whatever else becomes desired; empty: none. */
export type SetProbes = Command<
  'SetProbes',
  { readonly uid: ClusterUid; readonly node: NodeName; readonly probes: readonly Probe[] }
>;

/** The node prepares this ahead of any change; none: withdraws the staging with this ID. */
export type SetStage = Command<
  'SetStage',
  {
    readonly uid: ClusterUid;
    readonly node: NodeName;
    readonly id: string;
    readonly stage?: Omit<NonNullable<DesiredVersions['stage']>, 'id'>;
  }
>;

export type Desired = { readonly status: 'none' } | ({ readonly status: 'set' } & EventData<'DesiredVersionsSet'>);

const sameSoftware = (a: SoftwareVersions, b: SoftwareVersions): boolean => {
  const names = Object.keys(a);
  return names.length === Object.keys(b).length && names.every((name) => a[name] === b[name]);
};

const isLowerMinor = (from: string, to: string): boolean =>
  parseVersion(from) !== undefined && parseVersion(to) !== undefined && minorsAhead(from, to) < 0;

/** Kubernetes' own packages; only for these is a lower minor version never safe (version skew policy; rule A1). */
const KUBERNETES = ['kubeadm', 'kubelet', 'kubectl'] as const;

const sameText = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

const isSame = (before: DesiredVersions, desired: DesiredVersions): boolean =>
  sameSoftware(before.software, desired.software) &&
  before.changesAllowed === desired.changesAllowed &&
  before.changesAllowedUntil === desired.changesAllowedUntil &&
  before.change?.id === desired.change?.id &&
  before.change?.kubeadm === desired.change?.kubeadm &&
  (desired.repair === undefined || before.repair === desired.repair) &&
  sameText(before.stage, desired.stage) &&
  sameText(before.releases ?? [], desired.releases ?? []) &&
  sameText(before.probes ?? [], desired.probes ?? []);

const lowerMinor = (before: DesiredVersions, desired: DesiredVersions): Refusal | undefined => {
  for (const name of KUBERNETES) {
    const [from, to] = [before.software[name], desired.software[name]];
    if (from !== undefined && to !== undefined && isLowerMinor(from, to))
      return refuse('upgrade.minor-downgrade', { software: name, node: desired.node, from, to });
  }
  return undefined;
};

export type DesiredCommand =
  SetDesiredVersions | AskForChange | WithdrawPermission | SetProbes | SetStage | AllowRepair;

type DesiredFact = Fact<'DesiredVersionsSet'>;

const set = (
  before: (DesiredVersions & { readonly revision: number }) | undefined,
  desired: DesiredVersions,
): readonly DesiredFact[] => {
  if (before === undefined) return [{ type: 'DesiredVersionsSet', data: { ...desired, revision: 1 } }];
  if (isSame(before, desired)) return nothing;
  return [{ type: 'DesiredVersionsSet', data: { ...desired, revision: before.revision + 1 } }];
};

const asking = (probes: readonly Probe[] | undefined): Pick<DesiredVersions, 'probes'> =>
  probes === undefined || probes.length === 0 ? {} : { probes: [...probes] };

/** The parts that are kept when something else becomes desired. */
const kept = ({ probes, releases }: DesiredVersions): Pick<DesiredVersions, 'probes' | 'releases'> => ({
  ...asking(probes),
  ...(releases === undefined ? {} : { releases }),
});

/** The desired state of one node, revision by revision. Stream `desired-<node>`. */
export const desired: Decider<Desired, DesiredCommand, DesiredFact> = {
  initial: { status: 'none' },

  decide: (state, command) => {
    // Another incarnation of the cluster starts from the beginning.
    const before = state.status === 'set' && state.uid === command.data.uid ? state : undefined;
    switch (command.type) {
      case 'SetDesiredVersions': {
        const { rollback = false, ...desired } = command.data;
        const refused = before === undefined || rollback ? undefined : lowerMinor(before, desired);
        return refused ?? set(before, { ...desired, ...asking(before?.probes) });
      }
      case 'AskForChange': {
        const { uid, node, change } = command.data;
        if (before === undefined) return nothing;
        const { software } = before;
        return set(before, { uid, node, software, changesAllowed: true, change, ...kept(before) });
      }
      case 'WithdrawPermission': {
        const { uid, node, idle = false, change } = command.data;
        if (before === undefined || (idle && before.change !== undefined)) return nothing;
        if (change !== undefined && before.change?.id !== change) return nothing;
        const { software = before.software } = command.data;
        return set(before, { uid, node, software, changesAllowed: false, ...kept(before) });
      }
      case 'AllowRepair': {
        if (before === undefined) return nothing;
        const { revision: _revision, status: _status, ...desired } = before;
        return set(before, { ...desired, repair: command.data.repair });
      }
      case 'SetProbes': {
        if (before === undefined) return nothing;
        const { revision: _revision, status: _status, probes: _probes, ...desired } = before;
        return set(before, { ...desired, ...asking(command.data.probes) });
      }
      case 'SetStage': {
        if (before === undefined) return nothing;
        const { id, stage } = command.data;
        const { revision: _revision, status: _status, stage: staged, ...desired } = before;
        if (stage !== undefined) return set(before, { ...desired, stage: { id, ...stage } });
        return staged?.id === id ? set(before, desired) : nothing;
      }
    }
  },

  evolve: (state, event) => (event.type === 'DesiredVersionsSet' ? { status: 'set', ...event.data } : state),
};
