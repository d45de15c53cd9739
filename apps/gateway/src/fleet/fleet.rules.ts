import {
  API_ROLES,
  CLUSTER_STATES,
  type ClusterView,
  type EventClass,
  type FleetList,
  type FleetQuery,
  type FleetRow,
  type StoredEvent,
} from '@fairlead/contracts';

/** What the view of a cluster does not have: when a certificate of a control plane ends first. */
export interface RowSource {
  readonly view: ClusterView;
  readonly certificateEnd: string | undefined;
}

const operationOf = ({ progress }: ClusterView): FleetRow['operation'] => {
  if (progress === null || !progress.steps.some(({ state }) => state === 'running')) return null;
  return {
    kind: progress.operation,
    title: progress.title,
    stepsDone: progress.steps.filter(({ state }) => state === 'done').length,
    stepsTotal: progress.steps.length,
  };
};

const deadlineOf = ({ view, certificateEnd }: RowSource): FleetRow['deadline'] => {
  const lease = view.lease === undefined ? [] : [{ kind: 'lease', at: view.lease.deletionAt } as const];
  const certificate = certificateEnd === undefined ? [] : [{ kind: 'certificate', at: certificateEnd } as const];
  return [...lease, ...certificate].sort((one, other) => Date.parse(one.at) - Date.parse(other.at))[0] ?? null;
};

/** A cluster in one line. */
export const fleetRow = (source: RowSource): FleetRow => {
  const { view } = source;
  const { state, reasons, message } = view.status;
  const cause = view.conditions.find(({ reason }) => reasons.includes(reason));
  const sentence = cause?.message ?? (message === '' ? view.progress?.title : message);
  return {
    namespace: view.namespace,
    name: view.name,
    uid: view.uid,
    state,
    reason: state === 'Running' ? '' : (sentence ?? ''),
    since: (cause ?? view.conditions.find(({ type }) => type === 'Ready'))?.lastTransitionTime ?? view.createdTime,
    version: view.k8sVersion,
    nodesReady: view.nodes.filter(({ ready }) => ready).length,
    nodesTotal: view.nodes.length,
    operation: operationOf(view),
    deadline: deadlineOf(source),
    createdTime: view.createdTime,
    lastSeq: view.lastSeq,
  };
};

/** What needs a person first. */
const ATTENTION: readonly FleetRow['state'][] = [
  ...['Failed', 'Degraded', 'Paused', 'Deleting', 'Provisioning', 'Maintaining', 'Running'],
] as FleetRow['state'][];

const DIGITS = 6;
const padded = (number: number): string => String(number).padStart(DIGITS, '0');
/** After every time. */
const NEVER = '~';

const SORT_KEYS: Readonly<Record<FleetQuery['sort'], (row: FleetRow) => string>> = {
  name: () => '',
  state: ({ state }) => padded(ATTENTION.indexOf(state)),
  since: ({ since }) => since,
  version: ({ version }) => version.replaceAll(/\d+/g, (digits) => digits.padStart(DIGITS, '0')),
  nodes: ({ nodesTotal }) => padded(nodesTotal),
  deadline: ({ deadline }) => deadline?.at ?? NEVER,
};

/** A key by which rows are in the order of the query; unique. */
export const sortKeyOf =
  (sort: FleetQuery['sort']) =>
  (row: FleetRow): string =>
    `${SORT_KEYS[sort](row)} ${row.namespace}/${row.name}`;

const isIn = (list: string | undefined, text: string): boolean =>
  list === undefined || list === '' || list.split(',').some((one) => one.trim() === text);

const contains = ({ namespace, name, version, reason, state }: FleetRow, search: string | undefined): boolean => {
  const words =
    search
      ?.toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== '') ?? [];
  const text = `${namespace}/${name} ${version} ${state} ${reason}`.toLowerCase();
  return words.every((word) => text.includes(word));
};

export interface Filtered {
  readonly items: FleetRow[];
  readonly counts: FleetList['counts'];
}

/** The rows that a query is about, and how many there are of each state before it chooses states. */
export const filterFleet = (
  rows: readonly FleetRow[],
  { state, search, namespace }: Pick<FleetQuery, 'state' | 'search' | 'namespace'>,
): Filtered => {
  const found = rows.filter((row) => (namespace ?? row.namespace) === row.namespace && contains(row, search));
  const counts = CLUSTER_STATES.flatMap((one) => {
    const count = found.filter((row) => row.state === one).length;
    return count === 0 ? [] : [[one, count] as const];
  });
  return { items: found.filter((row) => isIn(state, row.state)), counts: Object.fromEntries(counts) };
};

const FAILURE = /(Failed|Rejected|Halted|Lost|Stuck|Denied|Refused|Unreachable|NotReady|Ended)$/;

/** What a time line shows an event as. */
export const eventClass = ({
  type,
  meta,
}: Pick<StoredEvent, 'type'> & { readonly meta: Pick<StoredEvent['meta'], 'actor' | 'source'> }): EventClass => {
  if (FAILURE.test(type)) return 'failure';
  if (meta.actor.startsWith('user/')) return 'request';
  return meta.source.includes('node-agent') || meta.actor.startsWith('node/') ? 'observation' : 'decision';
};

/** The least role that reads. */
export const READER = API_ROLES[0];
