import { fingerprintOf, installedAddons, sentenceOf, type Addon, type StoredEvent } from '@fairlead/contracts';

/** The deployment state of an add-on of the manifest. */
export interface AddonStanding {
  /** Only the fields that upgrades need: values and objects may be large. */
  readonly addon: Pick<Addon, 'name' | 'kubernetes' | 'upgradeOrder'>;
  readonly fingerprint: string;
  /** The event that declared it. */
  readonly declaration: string;
  /** It is deployed as declared. */
  readonly isDeployed: boolean;
  /** Why it is not as declared, or not healthy; null: no known problem. */
  readonly problem: string | null;
}

export type AddonStandings = Readonly<Record<string, AddonStanding>>;

const declared = (
  before: AddonStandings,
  { data, meta }: StoredEvent<'ClusterRequested' | 'ClusterSpecChanged'>,
): AddonStandings =>
  Object.fromEntries(
    installedAddons(data.spec).map((addon) => {
      const known = before[addon.name];
      const fingerprint = fingerprintOf(addon);
      if (known?.fingerprint === fingerprint) return [addon.name, known];
      const { name, kubernetes, upgradeOrder } = addon;
      const fresh = { fingerprint, declaration: meta.id, isDeployed: false, problem: null };
      return [name, { addon: { name, kubernetes, upgradeOrder }, ...fresh }];
    }),
  );

/** Events about an earlier declaration are ignored. */
const standingAfter = (before: AddonStandings, event: StoredEvent): AddonStandings => {
  if (event.type !== 'AddonDeployed' && event.type !== 'AddonFailed' && event.type !== 'AddonDrifted') return before;
  const { addon, declaration } = event.data;
  const known = before[addon];
  if (known === undefined || known.declaration !== declaration) return before;
  return { ...before, [addon]: { ...known, ...changeOf(event) } };
};

const changeOf = (event: StoredEvent<'AddonDeployed' | 'AddonFailed' | 'AddonDrifted'>): Partial<AddonStanding> => {
  switch (event.type) {
    case 'AddonDeployed':
      return { isDeployed: true, problem: null };
    case 'AddonFailed':
      return { problem: sentenceOf(event.data.cause) };
    case 'AddonDrifted':
      return { problem: `it was changed outside Fairlead: ${event.data.problems.join('; ')}` };
  }
};

export const addonStandingsAfter = (before: AddonStandings, event: StoredEvent): AddonStandings =>
  event.type === 'ClusterRequested' || event.type === 'ClusterSpecChanged'
    ? declared(before, event)
    : standingAfter(before, event);
