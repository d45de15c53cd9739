import { minorsAhead, type Finding, type GateName } from '@fairlead/contracts';
import type { AddonStanding } from './addon.standings.js';
import { finding, when } from './finding.js';

type Minors = NonNullable<AddonStanding['addon']['kubernetes']>;

const supports = ({ min, max }: Minors, version: string): boolean =>
  (min === undefined || minorsAhead(`v${min}.0`, version) >= 0) &&
  (max === undefined || minorsAhead(version, `v${max}.0`) >= 0);

const wordsOf = ({ min, max }: Minors): string =>
  [min === undefined ? '' : `from ${min}`, max === undefined ? '' : `up to ${max}`].filter(Boolean).join(' ');

/** It is deployed after the upgrade: until then an earlier declaration runs, which the manifest no longer describes. */
const isChangedLater = ({ addon, isDeployed }: AddonStanding): boolean => addon.upgradeOrder === 'after' && !isDeployed;

/** B14: add-ons support every version of the path, and those that are upgraded first are deployed. */
export const b14Addons = (standings: readonly AddonStanding[], path: readonly string[]): readonly Finding[] =>
  standings.flatMap((standing) => {
    const { addon, isDeployed, problem } = standing;
    const { name, kubernetes = {} } = addon;
    if (isChangedLater(standing)) return [];
    const unsupported = path.find((version) => !supports(kubernetes, version));
    return [
      ...when(unsupported !== undefined, () =>
        finding('B14.unsupported', { addon: name, to: unsupported ?? '' }, { supported: wordsOf(kubernetes) }),
      ),
      ...when(!isDeployed || problem !== null, () =>
        finding('B14.not-deployed', { addon: name }, { why: problem ?? 'it is not deployed as declared yet' }),
      ),
    ];
  });

/**
 * C9: in addition to kubeadm's addons, add-ons are healthy before the first worker; those that are upgraded after are
 * excluded.
 */
export const c9AddonsGate = (standings: readonly AddonStanding[]): readonly GateName[] =>
  standings.some((standing) => !isChangedLater(standing)) ? ['add-ons'] : [];

/** Unhealthy add-ons, each with the reason. */
export const addonProblems = (standings: readonly AddonStanding[]): readonly string[] =>
  standings.flatMap(({ addon, problem }) => (problem === null ? [] : [`${addon.name}: ${problem}`]));
