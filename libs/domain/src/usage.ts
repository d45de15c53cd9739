import {
  type NodeSet,
  type StoredEvent,
  QUOTA_MEASURES,
  type Quota,
  type QuotaMeasure,
  refuse,
  type Refusal,
} from '@fairlead/contracts';
import { replacementIn, type Replacement } from './members/replacements.js';
import type { Registered } from './registered.js';

/** Machines of one size. */
type Machines = Pick<NodeSet, 'connection' | 'spec' | 'count'>;

interface RequestedMachines {
  readonly seq: number;
  readonly machines: readonly Machines[];
}

interface Claim {
  readonly namespace: string;
  /** Sequences of the request and its retries since the last rejection. */
  readonly asked: readonly number[];
  readonly rejectedSeq: number;
  readonly desired: readonly Machines[];
  /** Undecided requests for more workers. */
  readonly more: ReadonlyMap<string, RequestedMachines>;
  readonly decided: ReadonlySet<string>;
  /** Nodes that leave before their replacements are created, with the machines to request afterwards. */
  readonly vacating: ReadonlyMap<string, { readonly requestId: string; readonly asked: RequestedMachines }>;
  /** By name, once names are assigned. */
  readonly named: ReadonlyMap<string, Machines> | undefined;
}

/** Resources that clusters use or have requested. */
export interface Usage {
  readonly claims: ReadonlyMap<string, Claim>;
  /** CPUs of each machine size, as last offered by each connection. */
  readonly cores: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

export const NO_USAGE: Usage = { claims: new Map(), cores: new Map() };

/**
 * Match every event of `Usage`. They are read one after the other, so the fold must not depend on their relative order.
 */
export const USAGE_FILTERS = ['evt.*.*.*.request.>', 'evt.*.*.*.machines.>', 'evt.*.*._.*.ConnectionVerified'] as const;

const NEW: Omit<Claim, 'namespace'> = {
  asked: [],
  rejectedSeq: 0,
  desired: [],
  more: new Map(),
  decided: new Set(),
  vacating: new Map(),
  named: undefined,
};

const omit = <Value>(map: ReadonlyMap<string, Value>, name: string): ReadonlyMap<string, Value> =>
  new Map([...map].filter(([key]) => key !== name));

const decide = (claim: Claim, requestId: string): Claim => ({
  ...claim,
  more: omit(claim.more, requestId),
  decided: new Set(claim.decided).add(requestId),
});

const planned = (claim: Claim, { data }: StoredEvent<'VmsPlanned'>): Claim => {
  const names = data.machines.map(({ name, connection, spec }) => [name, { connection, spec, count: 1 }] as const);
  const after = { ...claim, named: new Map([...(claim.named ?? []), ...names]) };
  return data.requestId === undefined ? after : decide(after, data.requestId);
};

/** One machine like the old one: immediately, or after the old one is gone. */
const replaced = (claim: Claim, { requestId, node, order }: Replacement, seq: number): Claim => {
  const machine = claim.named?.get(node);
  if (machine === undefined || claim.decided.has(requestId)) return claim;
  const asked = { seq, machines: [machine] };
  return order === 'create-first'
    ? { ...claim, more: new Map(claim.more).set(requestId, asked) }
    : { ...claim, vacating: new Map(claim.vacating).set(node, { requestId, asked }) };
};

const deleted = (claim: Claim, name: string): Claim => {
  const next = claim.vacating.get(name);
  return {
    ...claim,
    named: claim.named === undefined ? undefined : omit(claim.named, name),
    more: next === undefined ? claim.more : new Map(claim.more).set(next.requestId, next.asked),
    vacating: omit(claim.vacating, name),
  };
};

/** All machine sets of a request for more nodes. */
export const requestedSets = ({
  workers,
  controlPlane,
}: {
  readonly workers: readonly NodeSet[];
  readonly controlPlane?: NodeSet | undefined;
}): readonly NodeSet[] => (controlPlane === undefined ? workers : [controlPlane, ...workers]);

const claimAfter = (claim: Claim, event: StoredEvent): Claim => {
  switch (event.type) {
    case 'ClusterRequested': {
      const { controlPlane, workers } = event.data.spec;
      return { ...claim, asked: [...claim.asked, event.meta.seq], desired: [controlPlane, ...workers] };
    }
    case 'ClusterRetryRequested': {
      const asked = [...claim.asked, event.meta.seq];
      if (event.data.correction === undefined) return { ...claim, asked };
      const { controlPlane, workers } = event.data.correction.spec;
      // The corrected request counts from here: requests made in the meantime come first.
      return { ...claim, asked: [event.meta.seq], desired: [controlPlane, ...workers] };
    }
    case 'ClusterRejected':
      return { ...claim, rejectedSeq: event.meta.seq };
    case 'NodesRequested': {
      const { requestId } = event.data;
      if (claim.decided.has(requestId)) return claim;
      const more = new Map(claim.more).set(requestId, { seq: event.meta.seq, machines: requestedSets(event.data) });
      return { ...claim, more };
    }
    case 'NodesRejected':
    case 'NodesAbandoned':
      return decide(claim, event.data.requestId);
    case 'VmsFailed':
      return event.data.onFailure === 'keep' ? claim : decide(claim, event.data.requestId);
    case 'VmsPlanned':
      return planned(claim, event);
    case 'VmDeleted':
      return deleted(claim, event.data.name);
    default: {
      const replacement = replacementIn(event);
      return replacement === undefined ? claim : replaced(claim, replacement, event.meta.seq);
    }
  }
};

const CLAIMING: ReadonlySet<string> = new Set([
  'ClusterRequested',
  'ClusterRetryRequested',
  'ClusterRejected',
  'NodesRequested',
  'NodesRejected',
  'NodesAbandoned',
  'VmsFailed',
  'VmsPlanned',
  'VmDeleted',
]);

const isClaiming = (event: StoredEvent): boolean => CLAIMING.has(event.type) || replacementIn(event) !== undefined;

export const usageAfter = (usage: Usage, event: StoredEvent): Usage => {
  if (event.type === 'ConnectionVerified') {
    const { connection, offer } = event.data;
    const sizes = new Map(offer.specs.map(({ name, cpuCount }) => [name, cpuCount]));
    return { ...usage, cores: new Map(usage.cores).set(connection, sizes) };
  }
  if (event.type === 'ClusterDeleted') return { ...usage, claims: omit(usage.claims, event.data.uid) };
  if (!isClaiming(event) || !('uid' in event.data)) return usage;
  const { uid } = event.data;
  const before = usage.claims.get(uid);
  // Facts about clusters that are gone, or were never requested, claim nothing.
  if (before === undefined && event.type !== 'ClusterRequested') return usage;
  const claim = before ?? { ...NEW, namespace: event.meta.namespace };
  return { ...usage, claims: new Map(usage.claims).set(uid, claimAfter(claim, event)) };
};

/**
 * Sequence from which a cluster counts: its request, or the first retry after a rejection; undefined: it does not
 * count.
 */
const since = ({ asked, rejectedSeq }: Claim): number | undefined => asked.find((seq) => seq > rejectedSeq);

/** A request to check against quotas, in addition to what already counts. */
export interface Desired {
  readonly namespace: string;
  /** undefined: not in the log yet, so everything in the log comes first. */
  readonly uid: string | undefined;
  /** Set for a request for more workers that is in the log. */
  readonly requestId?: string | undefined;
  /** False for a cluster; true for machines of one that already counts. */
  readonly more: boolean;
  readonly machines: readonly Machines[];
}

interface Counted {
  readonly namespace: string;
  readonly machines: readonly Machines[];
}

const orderOf = ({ claims }: Usage, { uid, requestId, more }: Desired): number => {
  const claim = uid === undefined ? undefined : claims.get(uid);
  const own = requestId === undefined ? undefined : claim?.more.get(requestId)?.seq;
  return (more ? own : claim && since(claim)) ?? Number.POSITIVE_INFINITY;
};

/**
 * What counts before the request, by cluster: earlier requests come first, so of two concurrent requests only one gets
 * the capacity.
 */
const countedBefore = (usage: Usage, desired: Desired): readonly Counted[] => {
  const order = orderOf(usage, desired);
  return [...usage.claims].flatMap(([uid, claim]) => {
    const start = since(claim);
    const own = uid === desired.uid;
    if (start === undefined || (own ? !desired.more : start >= order)) return [];
    const named = claim.named === undefined ? claim.desired : [...claim.named.values()];
    const more = [...claim.more].filter(([id, { seq }]) => seq < order && !(own && id === desired.requestId));
    return [{ namespace: claim.namespace, machines: [...named, ...more.flatMap(([, asked]) => asked.machines)] }];
  });
};

const measure = (
  { cores }: Usage,
  what: QuotaMeasure,
  clusters: readonly { readonly machines: readonly Machines[] }[],
): number => {
  if (what === 'clusters') return clusters.length;
  const each = ({ connection, spec }: Machines): number =>
    what === 'nodes' ? 1 : (cores.get(connection)?.get(spec) ?? 0);
  return clusters
    .flatMap(({ machines }) => machines)
    .reduce((total, machines) => total + machines.count * each(machines), 0);
};

interface Scope {
  readonly name: string;
  readonly quota: Quota;
  readonly has: (counted: Counted) => readonly Machines[];
}

const scopesOf = ({ namespaces, connections }: Registered, { namespace, machines }: Desired): readonly Scope[] => [
  {
    name: `namespace ${namespace}`,
    quota: namespaces.get(namespace)?.quota ?? {},
    has: (counted) => (counted.namespace === namespace ? counted.machines : []),
  },
  ...[...new Set(machines.map(({ connection }) => connection))].map((connection) => ({
    name: `connection ${connection}`,
    quota: connections.get(connection)?.quota ?? {},
    has: (counted: Counted) => counted.machines.filter((one) => one.connection === connection),
  })),
];

/** Whether any quota could refuse the request: most installations have none, and then nothing needs to be counted. */
export const hasQuota = (known: Registered, desired: Desired): boolean =>
  scopesOf(known, desired).some(({ quota }) => QUOTA_MEASURES.some((what) => quota[what] !== undefined));

const SINGULAR: Readonly<Record<QuotaMeasure, string>> = { clusters: 'cluster', nodes: 'node', cores: 'core' };

/** Why the quota does not allow the request; undefined: it does. */
export const quotaRefusal = (known: Registered, usage: Usage, desired: Desired): Refusal | undefined => {
  const before = countedBefore(usage, desired);
  for (const { name, quota, has } of scopesOf(known, desired)) {
    const inScope = (counted: readonly Counted[]) =>
      counted.map((one) => ({ machines: has(one) })).filter(({ machines }) => machines.length > 0);
    const used = inScope(before);
    const asked = inScope([desired]);
    for (const what of QUOTA_MEASURES) {
      const limit = quota[what];
      if (limit === undefined || (what === 'clusters' && desired.more)) continue;
      const counts = { used: measure(usage, what, used), desired: measure(usage, what, asked) };
      if (counts.used + counts.desired > limit)
        return refuse('quota.exceeded', { scope: name, what: limit === 1 ? SINGULAR[what] : what, limit, ...counts });
    }
  }
  return undefined;
};
