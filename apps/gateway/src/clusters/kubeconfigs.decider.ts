import { refuse, type Fact, type KubernetesUser, type Refusal } from '@fairlead/contracts';
import {
  kubeconfigsAfter,
  latestOf,
  pauseAfter,
  type ClusterPause,
  type Kubeconfigs,
  type OpenRequest,
} from '@fairlead/domain';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { refuseWhilePaused } from '../lifecycle/pause.js';

/** `now` is RFC 3339. `polled`: the last kubeconfig will do while half of its time is left, and a failure is not tried again at once. */
export type RequestKubeconfig = Command<
  'RequestKubeconfig',
  {
    readonly namespace: string;
    readonly cluster: string;
    readonly uid: string;
    readonly requestId: string;
    readonly user: KubernetesUser;
    readonly ttlSeconds: number;
    readonly now: string;
    readonly polled: boolean;
  }
>;
type KubeconfigRequest = RequestKubeconfig['data'];

/** A request that has had no answer for so long is given up: another one may be made. */
const OPEN_MS = 60_000;
const POLLED_AGAIN_AFTER_MS = 60_000;
const MS_PER_SECOND = 1_000;

const ageMs = (now: string, then: string): number => Date.parse(now) - Date.parse(then);

/** The request of the user that is still to be answered: who asks twice at the same time is answered once. */
export const openRequestOf = (
  state: Kubeconfigs | undefined,
  { user, ttlSeconds, now }: Pick<KubeconfigRequest, 'user' | 'ttlSeconds' | 'now'>,
): (OpenRequest & { readonly requestId: string }) | undefined =>
  Object.entries(state?.open ?? {})
    .map(([requestId, request]) => ({ requestId, ...request }))
    .find(
      (request) =>
        request.user === user && request.ttlSeconds === ttlSeconds && ageMs(now, request.requestedAt) < OPEN_MS,
    );

/** When the half of the kubeconfig's time is over; RFC 3339. */
export const halfTimeOf = ({ expiresAt }: { readonly expiresAt: string }, ttlSeconds: number): string =>
  new Date(Date.parse(expiresAt) - (ttlSeconds * MS_PER_SECOND) / 2).toISOString();

const willDo = (state: Kubeconfigs, { user, ttlSeconds, now }: KubeconfigRequest): boolean => {
  const latest = latestOf(state, user);
  const failedAt = state.failedAt[user];
  if (failedAt !== undefined && ageMs(now, failedAt) < POLLED_AGAIN_AFTER_MS) return true;
  return latest !== undefined && ageMs(now, halfTimeOf(latest, ttlSeconds)) < 0;
};

/** What a cluster has issued, and whether it is paused. */
export interface KubeconfigsState {
  readonly kubeconfigs: Kubeconfigs | undefined;
  readonly pause: ClusterPause | null;
}

const request = (
  { kubeconfigs: state, pause }: KubeconfigsState,
  { data }: RequestKubeconfig,
): readonly Fact<'KubeconfigRequested'>[] | Refusal => {
  const { cluster, uid, requestId, user, ttlSeconds, polled } = data;
  if (state?.uid !== uid) return refuse('cluster.kubeconfig-not-ready', { cluster });
  if (openRequestOf(state, data) !== undefined || (polled && willDo(state, data))) return nothing;
  const paused = refuseWhilePaused(pause, data, 'issue a kubeconfig');
  // Clients that poll read a cluster: they get the last one.
  if (paused !== undefined) return polled ? nothing : paused;
  return [{ type: 'KubeconfigRequested', data: { uid: state.uid, requestId, user, ttlSeconds } }];
};

/** Operators' requests for kubeconfigs of their own. */
export const kubeconfigs: Decider<KubeconfigsState, RequestKubeconfig, Fact<'KubeconfigRequested'>> = {
  initial: { kubeconfigs: undefined, pause: null },
  reads: 'cluster',
  decide: request,
  evolve: (state, event) => ({
    kubeconfigs: kubeconfigsAfter(state.kubeconfigs, event),
    pause: pauseAfter(state.pause, event),
  }),
};
