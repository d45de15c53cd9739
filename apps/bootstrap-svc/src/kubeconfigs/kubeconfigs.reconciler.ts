import type { ClusterUid } from '@fairlead/contracts';
import { latestOf, type IssuedKubeconfig, type Kubeconfigs } from '@fairlead/domain';
import type { Reconciler, Task } from '@fairlead/event-sourcing';
import { kubeconfigs, type KubeconfigsCommand, type KubeconfigsFact } from './kubeconfigs.decider.js';

/** Data of both tasks: the request for the kubeconfig. */
export interface KubeconfigData {
  readonly [key: string]: unknown;
  readonly uid: ClusterUid;
  readonly requestId: string;
}

export const ISSUE = 'IssueKubeconfig';
export const REMOVE = 'RemoveKubeconfig';

const taskOf = (type: string, reason: string, data: KubeconfigData): Task => ({
  type,
  key: `${type}/${data.requestId}`,
  reason,
  data,
});

const isReplaced = (state: Kubeconfigs, one: IssuedKubeconfig): boolean => latestOf(state, one.user) !== one;

const tasksOf = (state: Kubeconfigs, now: string): readonly Task[] => {
  const { uid, open, sealed } = state;
  const issue = Object.keys(open).map((requestId) => taskOf(ISSUE, 'an operator asked for it', { uid, requestId }));
  const remove = Object.entries(sealed).flatMap(([requestId, one]): readonly Task[] => {
    if (Date.parse(one.expiresAt) <= Date.parse(now))
      return [taskOf(REMOVE, 'its certificate has expired', { uid, requestId })];
    return isReplaced(state, one) ? [taskOf(REMOVE, 'the same operator has a later one', { uid, requestId })] : [];
  });
  return [...issue, ...remove];
};

/**
 * Issues certificates for operators' requests. A sealed kubeconfig is deleted when its certificate expires, or when the
 * same operator has a later one; those of a cluster that is being deleted are deleted with its key.
 */
export const kubeconfigsReconciler: Reconciler<Kubeconfigs | undefined, KubeconfigsCommand, KubeconfigsFact> = {
  name: 'kubeconfigs',
  version: 3,
  context: 'access',
  decider: kubeconfigs,
  generation: (state) => state?.uid ?? '',
  tasks: (state, now) => (state === undefined ? [] : tasksOf(state, now)),

  wakeAt: (state, now) => {
    const ends = Object.values(state?.sealed ?? {}).map(({ expiresAt }) => Date.parse(expiresAt));
    const next = Math.min(...ends.filter((end) => end > Date.parse(now)));
    return Number.isFinite(next) ? new Date(next).toISOString() : null;
  },

  /** The last failed attempt answers the request; earlier ones are retried shortly afterwards. */
  failed: (state, { type, data }, { cause, nextAttemptAt }) => {
    const { uid, requestId } = data as KubeconfigData;
    const user = state?.open[requestId]?.user;
    if (type !== ISSUE || nextAttemptAt !== null || user === undefined) return [];
    return [{ type: 'KubeconfigNotIssued', data: { uid, requestId, user, cause } }];
  },
};
