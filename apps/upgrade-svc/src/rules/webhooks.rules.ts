import type { Finding } from '@fairlead/contracts';
import type { ClusterFacts } from './cluster.facts.js';
import { finding, when } from './finding.js';

const WEBHOOK_TIMEOUT_MAX_S = 15;

/** B6: a fail-closed webhook that is called for kube-system and may hang can lock the control plane out of itself. */
export const b6Webhooks = ({ webhooks }: ClusterFacts): readonly Finding[] =>
  webhooks.flatMap(({ name, failurePolicy, matchesKubeSystem, timeoutSeconds }) => [
    ...when(failurePolicy === 'Fail' && matchesKubeSystem, () =>
      finding('B6.fail-closed', { webhook: name, failurePolicy }),
    ),
    ...when(timeoutSeconds > WEBHOOK_TIMEOUT_MAX_S, () =>
      finding('B6.timeout', { webhook: name, timeoutSeconds, timeoutMaxSeconds: WEBHOOK_TIMEOUT_MAX_S }),
    ),
  ]);
