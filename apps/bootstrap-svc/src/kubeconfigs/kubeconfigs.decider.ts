import type { ClusterUid, Fact, SecretRef } from '@fairlead/contracts';
import { kubeconfigsAfter, type Kubeconfigs, type OpenRequest } from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';

interface RequestRef {
  readonly uid: ClusterUid;
  readonly requestId: string;
}

export type RecordIssued = Command<
  'RecordIssued',
  RequestRef & { readonly ref: SecretRef; readonly expiresAt: string }
>;
export type RecordRemoved = Command<'RecordRemoved', RequestRef>;
export type KubeconfigsCommand = RecordIssued | RecordRemoved;

export type KubeconfigsFact = Fact<'KubeconfigIssued' | 'KubeconfigNotIssued' | 'KubeconfigRemoved'>;

export const openRequest = (state: Kubeconfigs | undefined, { uid, requestId }: RequestRef): OpenRequest | undefined =>
  state?.uid === uid ? state.open[requestId] : undefined;

const issued = (state: Kubeconfigs | undefined, { data }: RecordIssued): readonly KubeconfigsFact[] => {
  const { uid, requestId, ref: kubeconfigRef, expiresAt } = data;
  const request = openRequest(state, data);
  if (request === undefined) return nothing;
  return [{ type: 'KubeconfigIssued', data: { uid, requestId, user: request.user, kubeconfigRef, expiresAt } }];
};

const removed = (
  state: Kubeconfigs | undefined,
  { uid, requestId }: RecordRemoved['data'],
): readonly KubeconfigsFact[] => {
  const sealed = state?.uid === uid ? state.sealed[requestId] : undefined;
  if (sealed === undefined) return nothing;
  return [{ type: 'KubeconfigRemoved', data: { uid, requestId, user: sealed.user } }];
};

/** The kubeconfigs of operators: each request is answered once. */
export const kubeconfigs: Decider<Kubeconfigs | undefined, KubeconfigsCommand, KubeconfigsFact> = {
  initial: undefined,
  reads: 'cluster',
  decide: (state, command) =>
    command.type === 'RecordRemoved' ? removed(state, command.data) : issued(state, command),
  evolve: kubeconfigsAfter,
};
