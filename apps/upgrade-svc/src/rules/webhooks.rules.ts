import type { Finding } from '@fairlead/contracts';
import type { ClusterFacts } from './cluster.facts.js';
import { refusing, when } from './finding.js';

const WEBHOOK_TIMEOUT_MAX_S = 15;

/** B6: a webhook that must answer, is asked about kube-system and may hang, locks the control plane out of itself. */
export const b6Webhooks = ({ webhooks }: ClusterFacts): readonly Finding[] =>
  webhooks.flatMap(({ name, failurePolicy, matchesKubeSystem, timeoutSeconds }) => [
    ...when(failurePolicy === 'Fail' && matchesKubeSystem, () =>
      refusing('B6', {
        sentence: `webhook ${name} must answer for nodes, pods or leases in kube-system`,
        facts: { webhook: name, failurePolicy },
        help: 'Give it a namespaceSelector that leaves kube-system out, or failurePolicy Ignore.',
      }),
    ),
    ...when(timeoutSeconds > WEBHOOK_TIMEOUT_MAX_S, () =>
      refusing('B6', {
        sentence: `webhook ${name} may take ${timeoutSeconds} s, more than ${WEBHOOK_TIMEOUT_MAX_S}`,
        facts: { webhook: name, timeoutSeconds, timeoutMaxSeconds: WEBHOOK_TIMEOUT_MAX_S },
        help: 'Lower its timeoutSeconds.',
      }),
    ),
  ]);
