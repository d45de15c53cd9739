import type { ClusterLifeState, ConditionType, IdentityBlock, NodeNetworkView } from '@fairlead/contracts';
import type { AddressFacts, ConditionFacts, NodeFacts, OperationFacts } from './condition.facts.js';
import { conditionsOf, lifeOf, type Condition } from './conditions.js';

export const MADE = '2026-01-01T00:00:00.000Z';
export const NOW = '2026-01-02T00:00:00.000Z';
export const STALLED_AFTER_MS = 30 * 60_000;
export const minutesAgo = (minutes: number): string => new Date(Date.parse(NOW) - minutes * 60_000).toISOString();
export const inDays = (days: number): string => new Date(Date.parse(NOW) + days * 24 * 3_600_000).toISOString();

export const node = (name: string, change: Partial<NodeFacts> = {}): NodeFacts => ({
  name,
  role: name.includes('cp') ? 'control-plane' : 'worker',
  isReady: true,
  isLost: false,
  wasReady: true,
  isRemoving: false,
  since: MADE,
  kubelet: '1.34.4',
  ...change,
});
export const network = (state: NodeNetworkView['state']): NodeNetworkView => ({
  ...{ state, revision: '0123456789abcdef', since: minutesAgo(5), message: 'firewall: NATS is not reached (reverted)' },
});
export const away = { isReady: false, since: minutesAgo(5) };

export const NODES = [node('cp-1'), node('cp-2'), node('cp-3'), node('w-1'), node('w-2')];
export const instead = (...nodes: readonly NodeFacts[]): readonly NodeFacts[] =>
  NODES.map((one) => nodes.find(({ name }) => name === one.name) ?? one);

export const HEALTHY: ConditionFacts = {
  namespace: 'default',
  name: 'demo',
  phase: 'Provisioned',
  reason: '',
  message: '',
  createdAt: MADE,
  changedAt: MADE,
  marks: { accepted: MADE, machines: MADE, controlPlane: MADE, network: MADE, ready: MADE },
  pause: null,
  resumedAt: null,
  nodes: NODES,
  addresses: [],
  operations: [],
  upgrade: null,
  etcd: [],
  certificates: [{ node: 'cp-1', name: 'apiserver', expiresAt: inDays(300) }],
  quarantined: [],
  unverified: [],
  busy: [],
  now: NOW,
  stalledAfterMs: STALLED_AFTER_MS,
};

export const address = (change: Partial<AddressFacts> = {}): AddressFacts => ({
  ...{ name: 'ingress', address: '198.18.7.5', holder: 'w-1', since: minutesAgo(5), isConfiguring: false },
  ...{ unreached: [], empty: [] },
  ...change,
});
export const running = (kind: OperationFacts['kind'], since: string, title = 'Machines'): OperationFacts => ({
  ...{ kind, state: 'running', node: kind === 'remove-node' ? 'w-2' : null, message: '', since },
  steps: [{ title, startedAt: since, ofProvider: title === 'Machines' }],
});
export const upgrade = (phase: NonNullable<ConditionFacts['upgrade']>['phase']): Partial<ConditionFacts> => ({
  upgrade: { id: 'u-1', phase, message: '', since: minutesAgo(10) },
});

export const busy = (change: Partial<ConditionFacts['busy'][number]> = {}): ConditionFacts['busy'][number] => ({
  ...{ name: 'lab', tasks: 12, places: 40, since: minutesAgo(2), takenSince: minutesAgo(4), until: inDays(1) },
  ...change,
});

/** Of a cluster that is to get a client at a realm; without a reason, nothing is in the way. */
export const identity = (reason?: IdentityBlock): NonNullable<ConditionFacts['identity']> => ({
  selection: { realm: null, groupsClaim: 'groups' },
  has: {
    held: {},
    ...(reason === undefined ? {} : { blocked: { realm: null, reason, message: 'because of the realm', since: MADE } }),
  },
  since: MADE,
});

/** Of a cluster whose API is published. */
export const publication = (has: NonNullable<ConditionFacts['publication']>['has'] = {}) => ({
  publication: { has, since: MADE },
});

export const BACKUPS: NonNullable<ConditionFacts['backups']> = {
  policy: { schedule: '0 */6 * * *' },
  since: MADE,
  lastGoodAt: minutesAgo(60),
};

export const GHOST = {
  code: 'B3.not-started',
  message: 'etcd: member 8e9e05c52164694d (https://10.0.0.9:2380) has not started',
  help: 'Remove it: "etcdctl member remove 8e9e05c52164694d".',
};
export const ADDON = {
  name: 'nfs-storage',
  phase: 'Deployed',
  version: 'v4.0.2',
  revision: 1,
  since: MADE,
  message: '',
} as const;

export type LeaseFacts = NonNullable<ConditionFacts['lease']>;
export const reservation = (phase: LeaseFacts['reservations'][number]['phase'], message = '') => ({
  ...{ connection: 'lab', phase, endsAt: null, sizes: {}, message },
});
export const lease = (change: Partial<LeaseFacts> = {}): LeaseFacts => ({
  ...{ startsAt: null, endsAt: inDays(2), deletionAt: inDays(1.9), gracePeriod: '144m', since: MADE, changedAt: MADE },
  ...{ warnings: ['24h'], warned: [], reservations: [reservation('Active')] },
  ...change,
});

/** Every reason for a state, in the order of precedence. */
export const held = (failed: boolean) => ({
  hook: 'backup',
  point: 'BeforeNodeDrain',
  node: 'w-1',
  failed,
  message: 'busy',
  since: MADE,
  nextAttemptAt: MADE,
});

export const DIFFERENCE = { item: 'sysctl', what: 'net.ipv4.ip_forward', observed: '0', desired: '1' };

export const UNMET = {
  ...{ what: 'pool web: 2 of 5 declared machines are missing', ofNodes: true, cause: 'quota of 3 is used up' },
  ...{ since: MADE, attempt: 2, nextAttemptAt: '2026-01-01T00:04:00.000Z' },
};

export const read = (facts: Partial<ConditionFacts>): readonly Condition[] => conditionsOf({ ...HEALTHY, ...facts });
export const of = (facts: Partial<ConditionFacts>, type: ConditionType): Condition =>
  read(facts).find((condition) => condition.type === type)!;
export const stateOf = (facts: Partial<ConditionFacts>): ClusterLifeState => lifeOf(read(facts)).state;
