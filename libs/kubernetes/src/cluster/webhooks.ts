import type {
  V1LabelSelector,
  V1MutatingWebhook,
  V1RuleWithOperations,
  V1ValidatingWebhook,
} from '@kubernetes/client-node';
import type { WebhookView } from '../cluster.ports.js';
import { textOf, type Plain } from '../plain.object.js';
import { selects } from './views.js';

/** If these three kinds are blocked in kube-system, no control plane can be changed. */
const NEEDED = [
  { group: '', resource: 'nodes' },
  { group: '', resource: 'pods' },
  { group: 'coordination.k8s.io', resource: 'leases' },
];
/** Kubernetes sets this label on every namespace. */
const KUBE_SYSTEM_LABELS = { 'kubernetes.io/metadata.name': 'kube-system' };
/** The API's own default. */
const TIMEOUT_SECONDS_DEFAULT = 10;

const names = (list: readonly string[] | undefined, value: string): boolean =>
  (list ?? []).some((candidate) => candidate === '*' || candidate === '*/*' || candidate === value);

const asksAbout = (rule: Plain<V1RuleWithOperations>): boolean =>
  NEEDED.some(({ group, resource }) => names(rule.apiGroups, group) && names(rule.resources, resource));

const isAsked = (namespaceSelector: Plain<V1LabelSelector> | undefined): boolean =>
  namespaceSelector === undefined || selects(namespaceSelector, KUBE_SYSTEM_LABELS);

export const webhookView = (
  configuration: string,
  webhook: Plain<V1ValidatingWebhook | V1MutatingWebhook>,
): WebhookView => ({
  name: `${configuration}/${textOf(webhook.name)}`,
  failurePolicy: webhook.failurePolicy === 'Ignore' ? 'Ignore' : 'Fail',
  timeoutSeconds: typeof webhook.timeoutSeconds === 'number' ? webhook.timeoutSeconds : TIMEOUT_SECONDS_DEFAULT,
  matchesKubeSystem: isAsked(webhook.namespaceSelector) && (webhook.rules ?? []).some(asksAbout),
});
