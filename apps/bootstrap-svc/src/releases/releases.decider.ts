import type { ClusterUid, EventData, Fact, PoolName } from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { releasesAfter, type Release, type Releases } from './releases.state.js';

interface AddonDeclaration {
  readonly uid: ClusterUid;
  readonly addon: PoolName;
  readonly declaration: string;
}

export type ReleasesCommand =
  | Command<'PrepareRelease', AddonDeclaration>
  | Command<'BeginRelease', AddonDeclaration & { readonly version: string }>
  | Command<'RecordRelease', EventData<'AddonDeployed'>>
  | Command<'RecordDrift', AddonDeclaration & { readonly problems: readonly string[] }>
  | Command<'BeginUninstall', Omit<AddonDeclaration, 'declaration'>>
  | Command<'RecordUninstalled', Omit<AddonDeclaration, 'declaration'>>;

export type ReleasesFact = Fact<
  | 'AddonRequested'
  | 'AddonPreparing'
  | 'AddonInstalling'
  | 'AddonUpgrading'
  | 'AddonDeployed'
  | 'AddonFailed'
  | 'AddonDrifted'
  | 'AddonUninstalling'
  | 'AddonUninstalled'
>;

export const mayRepair = ({ addon }: Release): boolean => addon.policy !== 'report';

const isSame = (one: readonly string[], other: readonly string[]): boolean => one.join('\n') === other.join('\n');

const decideDeclared = (
  release: Release,
  command: Exclude<ReleasesCommand, { type: 'BeginUninstall' | 'RecordUninstalled' }>,
): readonly ReleasesFact[] => {
  const { uid, addon, declaration } = command.data;
  if (!release.isDeclared || release.declaration !== declaration) return nothing;
  switch (command.type) {
    case 'PrepareRelease':
      return release.isPreparing ? nothing : [{ type: 'AddonPreparing', data: { uid, addon, declaration } }];
    case 'BeginRelease': {
      const data = { uid, addon, declaration, version: command.data.version };
      return [{ type: release.isBegun ? 'AddonUpgrading' : 'AddonInstalling', data }];
    }
    case 'RecordRelease': {
      const { deployed, drift } = release;
      const { revision, secrets = {} } = command.data;
      const isKnown =
        deployed?.declaration === declaration &&
        deployed.revision === revision &&
        JSON.stringify(deployed.secrets ?? {}) === JSON.stringify(secrets);
      return isKnown && drift.length === 0 ? nothing : [{ type: 'AddonDeployed', data: command.data }];
    }
    case 'RecordDrift': {
      const { problems } = command.data;
      if (isSame(release.drift, problems)) return nothing;
      const data = { uid, addon, declaration, problems: [...problems], repair: mayRepair(release) };
      return [{ type: 'AddonDrifted', data }];
    }
  }
};

/** Facts about add-ons: each recorded once, for the declaration that it belongs to. */
export const releases: Decider<Releases | undefined, ReleasesCommand, ReleasesFact> = {
  initial: undefined,
  reads: 'cluster',
  evolve: releasesAfter,

  decide: (state, command) => {
    const { uid, addon } = command.data;
    const release = state?.uid === uid ? state.releases[addon] : undefined;
    if (release === undefined) return nothing;
    switch (command.type) {
      case 'BeginUninstall':
        return release.isDeclared ? nothing : [{ type: 'AddonUninstalling', data: command.data }];
      case 'RecordUninstalled':
        return release.isDeclared ? nothing : [{ type: 'AddonUninstalled', data: command.data }];
      default:
        return decideDeclared(release, command);
    }
  },
};
