import type {
  PlanOperation,
  UpgradeNodePhase,
  UpgradeNodeView,
  UpgradeOperationView,
  UpgradeSummary,
  UpgradeView,
} from '@fairlead/contracts';
import { d7Window } from '@fairlead/domain';
import type { OperationState } from './operation.state.js';
import { endsByItself } from '../lifecycle/upgrade.phase.js';
import type { NodeUpgrade, NodeUpgradesDoc } from './upgrade.nodes.projection.js';
import type { UpgradeDoc } from './upgrades.projection.js';

/** The rows that make up the view of an upgrade. */
export interface UpgradeRows {
  readonly upgrade: UpgradeDoc;
  readonly nodes: readonly NodeUpgradesDoc[];
  /** Sequence of the event that changed one of the rows last. */
  readonly seq: number;
}

/** As a table holds it; the database answers its 64-bit numbers as text. */
interface Row<Doc> {
  readonly seq: string | number;
  readonly doc: Doc;
}

/** The rows of one upgrade, out of all of its cluster's nodes. */
export const upgradeRows = (upgrade: Row<UpgradeDoc>, nodes: readonly Row<NodeUpgradesDoc>[]): UpgradeRows => {
  const own = nodes.filter(
    ({ doc }) => doc.uid === upgrade.doc.uid && doc.upgrades.some(({ upgradeId }) => upgradeId === upgrade.doc.id),
  );
  const seq = Math.max(0, ...[upgrade, ...own].map((row) => Number(row.seq)));
  return { upgrade: upgrade.doc, nodes: own.map(({ doc }) => doc), seq };
};

/** The rows, and the plan's operations with what is known of each. */
interface UpgradeContext {
  readonly upgrade: UpgradeDoc;
  readonly operations: readonly PlanOperation[];
  readonly nodes: ReadonlyMap<string, NodeUpgrade>;
  readonly nowMs: number;
}

const MS_PER_SECOND = 1_000;
const msOf = (seconds: number): number => Math.round(seconds * MS_PER_SECOND);

const knownOf = ({ upgrade, nodes }: UpgradeRows, nowMs: number): UpgradeContext => ({
  upgrade,
  operations: upgrade.plan?.operations ?? [],
  nodes: new Map(
    nodes.flatMap(({ node, upgrades }) => {
      const own = upgrades.find(({ upgradeId }) => upgradeId === upgrade.id);
      return own === undefined ? [] : [[node, own] as const];
    }),
  ),
  nowMs,
});

const stateOf = ({ upgrade, nodes }: UpgradeContext, { id, node }: PlanOperation): OperationState | undefined =>
  node === null ? upgrade.operations[id] : nodes.get(node)?.operations[id];

const elapsedMs = ({ startedAt, finishedAt }: OperationState, { nowMs, upgrade }: UpgradeContext): number => {
  const end = finishedAt ?? upgrade.finishedAt;
  return Math.max(0, (end === null ? nowMs : Date.parse(end)) - Date.parse(startedAt));
};

type Attempt = Pick<OperationState, 'attempt' | 'attemptsMax' | 'nextAttemptAt' | 'failure'>;

const NO_ATTEMPT: Attempt = { attempt: 0, attemptsMax: 0, nextAttemptAt: null, failure: '' };

const attemptOf = (state: OperationState | undefined): Attempt => {
  if (state === undefined) return NO_ATTEMPT;
  const { attempt, attemptsMax, nextAttemptAt, failure } = state;
  return { attempt, attemptsMax, nextAttemptAt, failure };
};

const operationView = (known: UpgradeContext, operation: PlanOperation): UpgradeOperationView => {
  const state = stateOf(known, operation);
  const left = operation.node === null ? null : (known.nodes.get(operation.node)?.left ?? null);
  return {
    id: operation.id,
    kind: operation.kind,
    node: operation.node,
    batch: operation.batch,
    state: left !== null && state?.status !== 'done' ? 'skipped' : (state?.status ?? 'waiting'),
    startedAt: state?.startedAt ?? null,
    finishedAt: state?.finishedAt ?? null,
    elapsedMs: state === undefined ? null : elapsedMs(state, known),
    predictedMs: msOf(operation.predictedSeconds),
    ...attemptOf(state),
  };
};

// --- nodes ------------------------------------------------------------------------------------------------------------------------

const sum = (numbers: readonly number[]): number => numbers.reduce((total, one) => total + one, 0);

const listed = (software: Readonly<Record<string, string>>): readonly string[] =>
  Object.entries(software).map(([name, version]) => `${name} ${version}`);

/** What an operation leads to, beside versions. */
const toText = ({ to, change }: PlanOperation): string =>
  [
    ...listed(to),
    ...(change === null || change.emulatedVersion === null ? [] : [`behaving as ${change.emulatedVersion}`]),
    ...(change?.renewCertificates === true ? ['new certificates'] : []),
    ...(change?.reboot === true ? ['a boot'] : []),
  ].join(', ');

/** The operation that a node is at: the one that runs or failed, else the next, else the last. */
const presentOf = (known: UpgradeContext, own: readonly PlanOperation[]): PlanOperation | undefined =>
  own.find((operation) => ['running', 'failed'].includes(stateOf(known, operation)?.status ?? '')) ??
  own.find((operation) => stateOf(known, operation) === undefined) ??
  own.at(-1);

const isWaitingForPerson = ({ phase }: UpgradeDoc): boolean => phase === 'Halted' || phase === 'Aborted';

/** Nodes whose turn had not come are not upgraded by it any more. */
const isCutShort = ({ phase }: UpgradeDoc): boolean => phase === 'Aborted';

const phaseOfNode = (known: UpgradeContext, name: string, state: OperationState | undefined): UpgradeNodePhase => {
  const { upgrade, nodes } = known;
  const node = nodes.get(name);
  const waiting = isCutShort(upgrade) ? 'Skipped' : 'Waiting';
  if (node === undefined) return waiting;
  if (node.left !== null) return node.left;
  if (state === undefined) return waiting;
  if (state.status === 'done') return 'Done';
  if (state.status === 'failed') return 'Failed';
  return isWaitingForPerson(upgrade) && upgrade.leftFailed.includes(name) ? 'LeftFailed' : node.stage;
};

/** What is waited for while machines beyond the size of a pool come or go. */
const surgeNodes = ({ upgrade }: UpgradeContext, { kind, pool }: PlanOperation): string => {
  const surge = upgrade.plan?.pools.find(({ name }) => name === pool)?.surge ?? 1;
  const machines = surge === 1 ? 'a surge machine' : `${surge} surge machines`;
  const what = `${machines} of pool ${String(pool)}`;
  return kind === 'book-surge' ? `${what} to be Ready` : `${what} to leave`;
};

/** What is waited for while the nodes of a pool are replaced. */
const replacedNodes = ({ pool, nodes }: PlanOperation): string =>
  `new nodes in the place of ${nodes.length} of pool ${String(pool)}`;

/** Who or what is under way, for those that wait for their turn. */
const underWay = (known: UpgradeContext): string => {
  const running = known.operations.filter((operation) => stateOf(known, operation)?.status === 'running');
  const surge = running.find(({ kind }) => kind === 'book-surge' || kind === 'return-surge');
  if (surge !== undefined) return surgeNodes(known, surge);
  const replacing = running.find(({ kind }) => kind === 'replace');
  if (replacing !== undefined) return replacedNodes(replacing);
  const names = [...new Set(running.map(({ node, kind }) => node ?? kind))];
  return names.length === 0
    ? 'its turn'
    : `its turn: ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} under way`;
};

const turnOf = (known: UpgradeContext, operation: PlanOperation): string => {
  const { phase, message, gates, finishedAt } = known.upgrade;
  const gate = gates[operation.id];
  if (finishedAt !== null) return '';
  switch (phase) {
    case 'Running':
      return gate === undefined ? underWay(known) : `the gate ${gate.gate}: ${gate.message}`;
    case 'Planned':
    case 'Approved':
      return known.upgrade.mode === 'dry-run' ? '' : 'the rollout to begin';
    default:
      return message === '' ? 'the rollout to go on' : `the rollout to go on: ${message}`;
  }
};

const decisionOn = ({ finishedAt, leftFailed }: UpgradeDoc, node: string | null): string => {
  if (finishedAt === null) return 'a person to decide';
  return node !== null && leftFailed.includes(node) ? 'a repair: it stays cordoned' : '';
};

const waitsFor = (known: UpgradeContext, operation: PlanOperation, phase: UpgradeNodePhase): string => {
  const node = operation.node === null ? undefined : known.nodes.get(operation.node);
  switch (phase) {
    case 'Done':
      return '';
    case 'Skipped':
    case 'Quarantined':
      return node === undefined || node.left === null
        ? 'not upgraded, since the upgrade was aborted'
        : node.leftBecause;
    case 'Waiting':
      return turnOf(known, operation);
    case 'Failed':
    case 'LeftFailed':
      return decisionOn(known.upgrade, operation.node);
    default: {
      const gate = known.upgrade.gates[operation.id];
      return gate === undefined ? (node?.waitsFor ?? '') : `the gate ${gate.gate}: ${gate.message}`;
    }
  }
};

const nodeView = (known: UpgradeContext, name: string): UpgradeNodeView | undefined => {
  const own = known.operations.filter(({ node }) => node === name);
  const present = presentOf(known, own);
  if (present === undefined) return undefined;
  const state = stateOf(known, present);
  const states = own.flatMap((operation) => stateOf(known, operation) ?? []);
  const done = states.filter(({ status }) => status === 'done').length;
  const phase = phaseOfNode(known, name, state);
  return {
    name,
    role: present.role,
    pool: present.pool ?? '',
    phase,
    step: phase === 'Changing' ? (known.nodes.get(name)?.step ?? null) : null,
    waitsFor: waitsFor(known, present, phase),
    from: listed(own[0]?.from ?? {}).join(', '),
    to: toText(own.at(-1) ?? present),
    startedAt: states[0]?.startedAt ?? null,
    finishedAt: done === own.length ? (states.at(-1)?.finishedAt ?? null) : null,
    elapsedMs: states.length === 0 ? null : sum(states.map((one) => elapsedMs(one, known))),
    predictedMs: msOf(sum(own.map(({ predictedSeconds }) => predictedSeconds))),
    operationsDone: done,
    operationsTotal: own.length,
    ...attemptOf(state),
  };
};

const heldView = (name: string): UpgradeNodeView => ({
  name,
  role: null,
  pool: '',
  phase: 'Held',
  step: null,
  waitsFor: 'its user to release it',
  from: '',
  to: '',
  startedAt: null,
  finishedAt: null,
  elapsedMs: null,
  predictedMs: 0,
  operationsDone: 0,
  operationsTotal: 0,
  ...NO_ATTEMPT,
});

const nodeViews = (known: UpgradeContext): readonly UpgradeNodeView[] => {
  const names = new Set(known.operations.flatMap(({ node }) => node ?? []));
  return [
    ...[...names].flatMap((name) => nodeView(known, name) ?? []),
    ...(known.upgrade.plan?.held ?? []).map(heldView),
  ];
};

// --- a pause ----------------------------------------------------------------------------------------------------------------------

/** When the window of the upgrade opens again; null: it is open, or there is none. */
const closedUntil = ({ upgrade, nowMs }: UpgradeContext): string | null => {
  const { open, changesAt } = d7Window(upgrade.windows ?? [], new Date(nowMs).toISOString());
  return open ? null : (changesAt ?? 'no time');
};

const isPausedByPerson = ({ phase, pausedBy }: UpgradeDoc): boolean =>
  phase === 'Paused' && pausedBy !== undefined && pausedBy !== null && !endsByItself(pausedBy);

/** A pause does not end with the window that it began in, and keeps the cluster from being changed otherwise (B1). */
const pauseMessage = (known: UpgradeContext): string => {
  const { upgrade } = known;
  const until = isPausedByPerson(upgrade) ? closedUntil(known) : null;
  return until === null ? upgrade.message : `${upgrade.message}; its window is closed until ${until}`;
};

/** Events recommend commands for `<cluster>`, whatever its name. */
const forCluster = ({ cluster }: UpgradeDoc, text: string): string => text.replaceAll('<cluster>', cluster);

const findingsOf = (upgrade: UpgradeDoc): UpgradeView['findings'] =>
  upgrade.findings.map((finding) => ({ ...finding, help: forCluster(upgrade, finding.help) }));

const nextActionsOf = (known: UpgradeContext): readonly string[] => {
  const { upgrade } = known;
  if (upgrade.phase !== 'Paused')
    return [...upgrade.nextActions.map((action) => forCluster(upgrade, action)), ...endEmulation(known)];
  const end = `end it here, so that the cluster may be changed otherwise: "fairlead upgrade abort ${upgrade.cluster}"`;
  if (!isPausedByPerson(upgrade)) return ['wait: it goes on by itself', end];
  const until = closedUntil(known);
  const when = until === null ? 'let it go on' : `let it go on when its window opens at ${until}`;
  return [`${when}: "fairlead upgrade resume ${upgrade.cluster}"`, end];
};

// --- an end between two steps -----------------------------------------------------------------------------------------------------

/** Its control planes with new binaries that still behave as the version before, since no second step came (G5). */
const emulating = (known: UpgradeContext): readonly PlanOperation[] => {
  const latest = new Map<string, PlanOperation>();
  for (const operation of known.operations) {
    const { node, change } = operation;
    if (node === null || change === null || change.kubeadm === null) continue;
    if (stateOf(known, operation)?.status === 'done') latest.set(node, operation);
  }
  return [...latest.values()].filter(({ change }) => change !== null && change.emulatedVersion !== null);
};

const endEmulation = (known: UpgradeContext): readonly string[] => {
  const [first, ...others] = known.upgrade.finishedAt === null ? [] : emulating(known);
  if (first === undefined) return [];
  const names = [first, ...others].map(({ node }) => node).join(', ');
  const start = `fairlead upgrade start ${known.upgrade.cluster} --to ${String(first.change?.kubernetes)}`;
  return [`end what was begun: until then ${names} behave as ${String(first.change?.emulatedVersion)}: "${start}"`];
};

// --- the upgrade ------------------------------------------------------------------------------------------------------------------

const MACHINE_KINDS: ReadonlySet<string> = new Set<PlanOperation['kind']>(['book-surge', 'return-surge', 'replace']);

/** While machines are created or deleted, no node is being changed: the upgrade itself states what it waits for. */
const machinesMessage = (known: UpgradeContext): string => {
  const operation = known.operations.find(
    (one) => MACHINE_KINDS.has(one.kind) && stateOf(known, one)?.status === 'running',
  );
  if (operation === undefined || known.upgrade.phase !== 'Running') return '';
  return `waits for ${operation.kind === 'replace' ? replacedNodes(operation) : surgeNodes(known, operation)}`;
};

const messageOf = (known: UpgradeContext): string => {
  const { upgrade } = known;
  const message = upgrade.message === '' ? machinesMessage(known) : forCluster(upgrade, pauseMessage(known));
  return [message, ...Object.values(upgrade.failingSteps ?? {})].filter(Boolean).join('; ');
};

const summaryOf = (known: UpgradeContext, nodes: readonly UpgradeNodeView[]): UpgradeSummary => {
  const { upgrade, nowMs } = known;
  const { startedAt, finishedAt } = upgrade;
  return {
    id: upgrade.id,
    kind: 'Upgrade',
    namespace: upgrade.namespace,
    cluster: upgrade.cluster,
    mode: upgrade.mode,
    phase: upgrade.phase,
    message: messageOf(known),
    target: upgrade.target,
    actor: upgrade.actor,
    requestedAt: upgrade.requestedAt,
    startedAt,
    finishedAt,
    elapsedMs:
      startedAt === null
        ? null
        : Math.max(0, (finishedAt === null ? nowMs : Date.parse(finishedAt)) - Date.parse(startedAt)),
    predictedMs: upgrade.plan === null ? null : msOf(upgrade.plan.predictedSeconds),
    nodesDone: nodes.filter(({ phase }) => phase === 'Done').length,
    nodesTotal: nodes.filter(({ phase }) => phase !== 'Held').length,
  };
};

export const upgradeSummary = (rows: UpgradeRows, nowMs: number): UpgradeSummary => {
  const known = knownOf(rows, nowMs);
  return summaryOf(known, nodeViews(known));
};

/** `nowMs`: up to when what is under way has taken its time. */
export const upgradeView = (rows: UpgradeRows, nowMs: number): UpgradeView => {
  const known = knownOf(rows, nowMs);
  const { upgrade } = rows;
  const nodes = nodeViews(known);
  return {
    ...summaryOf(known, nodes),
    uid: upgrade.uid,
    pools: upgrade.pools === null ? null : [...upgrade.pools],
    controlPlane: upgrade.controlPlane,
    overrides: [...upgrade.overrides],
    findings: findingsOf(upgrade),
    planHash: upgrade.planHash,
    plan: upgrade.plan,
    approvedBy: upgrade.approvedBy,
    nodes: [...nodes],
    operations: known.operations.map((operation) => operationView(known, operation)),
    nextActions: [...nextActionsOf(known)],
    lastSeq: rows.seq,
  };
};
