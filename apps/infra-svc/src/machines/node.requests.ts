import type { EventData, MachinePlan, NodeName, NodeSet, OnFailure } from '@fairlead/contracts';
import { onFailureOf, type Replacement } from '@fairlead/domain';
import { surgeOf } from './surges.js';

/** A request for more nodes, until its machines are announced or abandoned. */
export interface NodesRequest {
  readonly requestId: string;
  readonly workers: readonly NodeSet[];
  /** Absent: no control planes are added. */
  readonly controlPlane?: NodeSet | undefined;
  readonly onFailure: OnFailure;
  /** Names of its machines; empty until they are planned. */
  readonly machines: readonly NodeName[];
  /** Its machines could not be created and are kept for a retry. */
  readonly failed: boolean;
  /** Why it failed; absent if it did not. */
  readonly refusal?: string;
  /** The provider ID of the machine that it adopts; absent: machines are created. */
  readonly adopts?: string;
  /** The machine that it replaces, as planned; absent: its machines are additional. */
  readonly replaces?: Replaced;
}

interface Replaced extends Pick<Replacement, 'order'> {
  readonly machine: MachinePlan;
}

/** The requests for nodes of a cluster, with their machines. */
export interface NodeRequests {
  readonly requests: readonly NodesRequest[];
  /** Abandoned machines, which are deleted and never announced. */
  readonly leaving: readonly NodeName[];
}

export const NO_ADDITIONS: NodeRequests = { requests: [], leaving: [] };

export const requestOf = ({ requests }: NodeRequests, requestId: string): NodesRequest | undefined =>
  requests.find((request) => request.requestId === requestId);

const requestKey = (requestId: string): string => `request/${requestId}`;

/** The batch with which a machine is created and announced: its surge, its request, or null for the cluster itself. */
export const batchOf = (
  { requests }: NodeRequests,
  plan: Pick<MachinePlan, 'name' | 'surge' | 'pool'>,
): string | null => {
  const request = requests.find(({ machines }) => machines.includes(plan.name));
  return surgeOf(plan) ?? (request === undefined ? null : requestKey(request.requestId));
};

export const batchOfRequest = (requestId: string | undefined): string | null =>
  requestId === undefined ? null : requestKey(requestId);

const change = (additions: NodeRequests, requestId: string, to: Partial<NodesRequest>): NodeRequests => ({
  ...additions,
  requests: additions.requests.map((request) => (request.requestId === requestId ? { ...request, ...to } : request)),
});

const drop = (additions: NodeRequests, requestId: string): NodeRequests => ({
  ...additions,
  requests: additions.requests.filter((request) => request.requestId !== requestId),
});

export const withRequest = (
  additions: NodeRequests,
  { requestId, workers, controlPlane, onFailure = 'rollback', adopts }: EventData<'NodesRequested'>,
): NodeRequests => {
  const request = { requestId, workers, controlPlane, onFailure, machines: [], failed: false };
  return { ...additions, requests: [...additions.requests, adopts === undefined ? request : { ...request, adopts }] };
};

/** Ignored if the machine is already being replaced, or does not exist. */
export const withReplacement = (
  additions: NodeRequests,
  { requestId, node, order }: Replacement,
  planned: readonly MachinePlan[],
): NodeRequests => {
  const machine = planned.find(({ name }) => name === node);
  const isReplaced = additions.requests.some(({ replaces }) => replaces?.machine.name === node);
  if (machine === undefined || isReplaced) return additions;
  const request = { requestId, workers: [], onFailure: onFailureOf({ order }), machines: [], failed: false };
  return { ...additions, requests: [...additions.requests, { ...request, replaces: { order, machine } }] };
};

/**
 * The old node's machine is deleted before the new one is created, because an inventory or quota may lack capacity for
 * both.
 */
export const isWaiting = ({ replaces }: NodesRequest, planned: readonly MachinePlan[]): boolean =>
  replaces?.order === 'remove-first' && planned.some(({ name }) => name === replaces.machine.name);

/** Whether a node has left without a successor yet: the cluster has one node less than declared until there is one. */
const isVacancy = ({ failed, replaces }: NodesRequest): boolean => failed && replaces?.order === 'remove-first';

/** Whether the request was refused, e.g. for lack of quota or capacity, and is therefore checked periodically. */
export const isReconsidered = (request: NodesRequest): boolean =>
  isVacancy(request) && request.refusal !== undefined && request.machines.length === 0;

/** Whether its machine is planned but the provider failed to create it, so that the creation is retried. */
export const isMadeAgain = (request: NodesRequest): boolean => isVacancy(request) && request.machines.length > 0;

export const withoutRequest = drop;

const again = ({ refusal: _refusal, ...request }: NodesRequest): NodesRequest => ({ ...request, failed: false });

/** Machines that were planned after their request was abandoned are abandoned too. */
export const withPlannedRequest = (
  additions: NodeRequests,
  { requestId, machines }: EventData<'VmsPlanned'>,
): NodeRequests => {
  if (requestId === undefined) return additions;
  const names = machines.map(({ name }) => name);
  return requestOf(additions, requestId) === undefined
    ? { ...additions, leaving: [...additions.leaving, ...names] }
    : change(withRetry(additions, requestId), requestId, { machines: names });
};

/** Its machines are announced: from here on they are nodes, whose state bootstrap-svc reports. */
export const withAnnounced = (additions: NodeRequests, { machines }: EventData<'VmsCreated'>): NodeRequests => {
  const names = new Set(machines.map(({ name }) => name));
  return {
    ...additions,
    requests: additions.requests.filter((request) => !request.machines.some((name) => names.has(name))),
  };
};

const giveUp = (additions: NodeRequests, requestId: string): NodeRequests => {
  const going = requestOf(additions, requestId)?.machines ?? [];
  return drop({ ...additions, leaving: [...additions.leaving, ...going] }, requestId);
};

export const withFailed = (
  additions: NodeRequests,
  { requestId, onFailure, cause }: EventData<'VmsFailed'>,
): NodeRequests => {
  if (onFailure === 'rollback') return giveUp(additions, requestId);
  return change(additions, requestId, { failed: true, refusal: cause.message });
};

export const withAbandoned = giveUp;

/** A machine that was never announced has no node that must leave first. */
export const withRemovalDesired = (additions: NodeRequests, name: NodeName): NodeRequests => {
  const isHeld = additions.requests.some(({ machines }) => machines.includes(name));
  return isHeld ? { ...withoutMachine(additions, name), leaving: [...additions.leaving, name] } : additions;
};

export const withoutMachine = (additions: NodeRequests, name: NodeName): NodeRequests => ({
  leaving: additions.leaving.filter((one) => one !== name),
  requests: additions.requests
    .map((request) => ({ ...request, machines: request.machines.filter((one) => one !== name), had: request.machines }))
    .filter(({ machines, had }) => machines.length > 0 || had.length === 0)
    .map(({ had: _had, ...request }) => request),
});

/** Retries all requests, or one. */
export const withRetry = (additions: NodeRequests, requestId?: string): NodeRequests => ({
  ...additions,
  requests: additions.requests.map((request) =>
    requestId === undefined || request.requestId === requestId ? again(request) : request,
  ),
});
