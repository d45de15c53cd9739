import { type Finding, minorsAhead } from '@fairlead/contracts';
import type { ClusterFacts } from './cluster.facts.js';
import { finding } from './finding.js';

/** AKS considers 12 hours, EKS 30 days; this is the longer one, as far as API servers record it. */
const API_USE_WINDOW_MS = 30 * 24 * 3_600_000;

/** B5: no recent use of an API that the target no longer has. */
export const b5RemovedApis = (facts: ClusterFacts, target: string): readonly Finding[] => {
  const used = facts.deprecatedApis.filter(
    ({ removedIn, requests, lastUsedAt }) =>
      requests > 0 &&
      removedIn !== null &&
      minorsAhead(removedIn, target) >= 0 &&
      (lastUsedAt === null || Date.parse(facts.at) - Date.parse(lastUsedAt) <= API_USE_WINDOW_MS),
  );
  return used.map(({ api, removedIn, requests, lastUsedAt }) =>
    finding('B5.api', { api, removedIn, requests, lastUsedAt }),
  );
};
