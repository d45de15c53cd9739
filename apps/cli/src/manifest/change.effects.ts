import { randomUUID } from 'node:crypto';
import type { Accepted } from '../api/api.js';
import { DRY_RUN, putManifest } from '../api/manifests.js';
import type { ClusterAt, Manifest, ManifestView, UpgradeView } from '../api/views.js';
import { confirm } from '../command/confirm.js';
import type { Session } from '../command/session.js';
import { CliFailure, usageFailure } from '../failures.js';
import { shownText, type CommandOutput } from '../output/format.js';
import { followOperation, unlessUnknown } from '../progress/follow.effects.js';
import { planText } from '../upgrade/plan.text.js';
import { orFail } from '../upgrade/upgrade.answers.js';
import { followUpgrade, isOver, plannedUpgrade } from '../upgrade/upgrade.follow.effects.js';
import { upgradeMeant } from '../upgrade/upgrade.options.js';
import { changeText, isChanged } from './change.text.js';

export interface ChangeOptions {
  readonly dryRun?: true;
  /** Do not ask for confirmation. */
  readonly yes?: true;
  readonly wait?: boolean;
  readonly timeout?: number;
  readonly idempotencyKey?: string;
}

/** The result of a dry run, and the present declaration; undefined if the cluster does not exist. */
export interface PlannedChange {
  readonly before: ManifestView | undefined;
  readonly planned: ManifestView;
}

/** The server refuses a manifest with this resource version if the cluster exists. */
const ONLY_IF_ABSENT = '';

/** How often planning is retried if the cluster changes between the read and the dry run. */
const PLANS_MAX = 5;

/** Plans a change: the diff and the plan are for the same version of the cluster. */
export const planChange = async ({ api }: Session, at: ClusterAt, manifest: Manifest): Promise<PlannedChange> => {
  for (let attempt = 1; attempt <= PLANS_MAX; attempt += 1) {
    const before = await unlessUnknown(api.get('/ns/{namespace}/clusters/{cluster}/manifest', at));
    const { data: planned } = await putManifest(api, at, manifest, { query: DRY_RUN, key: randomUUID() });
    const { resourceVersion = ONLY_IF_ABSENT } = before?.metadata ?? {};
    if (planned.metadata.resourceVersion === resourceVersion) return { before, planned };
  }
  throw new CliFailure('conflict', {
    code: 'conflict.concurrent',
    message: `${at.cluster} kept changing while the change was planned`,
    help: 'Run the command again when no other change is being made.',
  });
};

type Outcome = 'created' | 'configured' | 'unchanged';

const answerOf = ({ cluster }: ClusterAt, manifest: ManifestView, outcome: Outcome, note = ''): CommandOutput => ({
  data: manifest,
  table: `cluster/${cluster} ${outcome}${note}`,
  names: [cluster],
});

/** Applies exactly what was displayed: if the cluster was changed or created in the meantime, the server refuses. */
const asShown = (manifest: Manifest, before: ManifestView | undefined): Manifest => ({
  ...manifest,
  metadata: { resourceVersion: before?.metadata.resourceVersion ?? ONLY_IF_ABSENT, ...manifest.metadata },
});

/**
 * The effects of a version change on each node, and the findings of the checks; undefined if the version does not
 * change. An upgrade of a paused cluster is not planned.
 */
const planUpgrade = async (
  session: Session,
  at: ClusterAt,
  { before, planned }: PlannedChange,
): Promise<UpgradeView | undefined> => {
  if (planned.plan?.some(({ action }) => action === 'upgrade') !== true || before?.spec.paused === true)
    return undefined;
  const request = { version: planned.spec.version };
  try {
    return await plannedUpgrade(session, at, request, { dryRun: 'true' });
  } catch (error) {
    // There is already an open upgrade: the declaration replaces it, or is refused.
    if (error instanceof CliFailure && error.code === 'upgrade.open') return undefined;
    throw error;
  }
};

/** How a change is planned, and how the displayed change is sent. */
export interface Change {
  /** The manifest, if the user gave one: its missing fields have defaults. */
  readonly declared?: Manifest;
  readonly plan: () => Promise<PlannedChange>;
  /** Whether this plan needs a confirmation; absent: every plan. */
  readonly asks?: (planned: PlannedChange) => boolean;
  readonly send: (before: ManifestView | undefined, key: string) => Promise<Accepted<ManifestView>>;
}

export const changeManifest = (
  session: Session,
  at: ClusterAt,
  manifest: Manifest,
  options: ChangeOptions,
): Promise<CommandOutput> =>
  carryOut(
    session,
    at,
    {
      declared: manifest,
      plan: () => planChange(session, at, manifest),
      send: (before, key) => putManifest(session.api, at, asShown(manifest, before), { key }),
    },
    options,
  );

/** The declared version waits for checks that can pass later, but not for those that require another request. */
const mayPass = ({ findings }: UpgradeView): boolean => findings.every(({ permanent }) => permanent !== true);

/** Displays a planned change, asks for confirmation, sends it and follows its operations. */
export const carryOut = async (
  session: Session,
  at: ClusterAt,
  change: Change,
  options: ChangeOptions,
): Promise<CommandOutput> => {
  const { io } = session;
  if (options.wait !== true && options.timeout !== undefined)
    throw usageFailure('--timeout limits the watching, and nothing would be watched', 'Leave it out, or wait.');
  const { before, planned } = await change.plan();
  if (before !== undefined && !isChanged(before, planned)) {
    if (before.status?.phase === 'Failed')
      io.err(`Its creation has failed. "fairlead cluster retry ${at.cluster}" continues it as it is declared.\n`);
    return answerOf(at, planned, 'unchanged');
  }
  const upgrade = await planUpgrade(session, at, { before, planned });
  const shown = (columns: number): string =>
    [
      changeText(before, planned, { colors: io.colors, columns }, change.declared),
      ...(upgrade === undefined ? [] : ['', planText(upgrade, columns)]),
      ...(upgrade?.phase === 'Rejected' && mayPass(upgrade)
        ? ['', 'The version is declared all the same: its upgrade waits until these findings hold no longer.']
        : []),
    ].join('\n');
  const outcome = before === undefined ? 'created' : 'configured';
  if (options.dryRun === true && (upgrade?.phase !== 'Rejected' || mayPass(upgrade))) {
    const answer = answerOf(at, planned, outcome, ' (dry run: nothing is changed)');
    const table = (columns: number): string => `${shown(columns)}\n${shownText(answer.table, columns)}`;
    return { ...answer, table, data: upgrade === undefined ? planned : { ...planned, upgrade } };
  }
  io.err(`${shown(io.errColumns())}\n`);
  if (upgrade !== undefined && !mayPass(upgrade)) orFail(upgrade);
  if (change.asks?.({ before, planned }) !== false) await confirm(io, { question: 'Apply this?' }, options);
  const { seq, data: applied } = await change.send(before, options.idempotencyKey ?? randomUUID());
  await follow(session, at, { seq, operations: applied.operations ?? [] }, options);
  return answerOf(at, applied, outcome);
};

/** Follows the operations in the order of their requests. */
const follow = async (
  session: Session,
  at: ClusterAt,
  { seq, operations }: { readonly seq: number; readonly operations: readonly string[] },
  { wait, timeout }: ChangeOptions,
): Promise<void> => {
  const { api, io } = session;
  if (operations.length === 0) return;
  if (wait !== true) {
    io.err(`Watch it with "fairlead cluster describe ${at.cluster} --watch".\n`);
    return;
  }
  session.waitsForServer();
  const deadlineMs = timeout === undefined ? undefined : io.now() + timeout;
  const requested = (
    await api.list('/ns/{namespace}/clusters/{cluster}/operations', at, { query: { minSeq: seq } })
  ).filter(({ id }) => operations.includes(id));
  for (const operation of requested) {
    const timeoutMs = deadlineMs === undefined ? undefined : Math.max(1, deadlineMs - io.now());
    if (operation.kind === 'upgrade') {
      const id = await upgradeMeant(session, at, {});
      orFail(await followUpgrade(api, io, { at, id }, { until: isOver, timeoutMs }));
    } else
      await followOperation(api, io, at, { requestSeq: operation.seq, timeoutMs, what: `the change of ${at.cluster}` });
  }
};
