import { randomUUID } from 'node:crypto';
import type { Api } from '../api/api.js';
import type { ClusterAt, Steering, UpgradeFields, UpgradeView } from '../api/views.js';
import type { Session } from '../command/session.js';
import type { Io } from '../io/io.js';
import { commandAt, orContinues, stoppedWatching } from '../progress/stopped.watching.js';
import { linesOfTree } from '../progress/tree.text.js';
import { watch } from '../progress/watch.effects.js';
import { linesBetweenUpgrades } from './upgrade.lines.js';
import { upgradeTree } from './upgrade.tree.js';

export interface FollowUpgradeOptions {
  /** undefined: no limit. */
  readonly timeoutMs?: number | undefined;
  /** When there is nothing more to wait for. */
  readonly until: (upgrade: UpgradeView) => boolean;
  /** Nothing is shown: the answer alone matters. */
  readonly quiet?: boolean;
}

/** The upgrade goes on no further by itself. */
export const isOver = ({ phase }: UpgradeView): boolean =>
  ['Rejected', 'Halted', 'Aborted', 'Completed'].includes(phase);

/** There is a plan, or there will be none. */
export const hasPlan = ({ phase }: UpgradeView): boolean => phase !== 'Planning';

/** It waits for no check any more. */
export const isChecked = ({ phase }: UpgradeView): boolean => phase !== 'Planning' && phase !== 'Waiting';

/**
 * Shows an upgrade until `until` holds, and answers with it. Throws a `CliFailure` when the time is over or at Ctrl-C: the rollout goes on
 * at the server.
 */
export const followUpgrade = async (
  api: Api,
  io: Io,
  { at, id }: { readonly at: ClusterAt; readonly id: string },
  { timeoutMs, until, quiet }: FollowUpgradeOptions,
): Promise<UpgradeView> => {
  const stopped = { what: `the upgrade ${id} of ${at.cluster}`, help: howToComeBack(at) };
  const ended = await watch(
    api,
    io,
    {
      at,
      from: 0,
      since: ({ lastSeq }) => lastSeq,
      read: (minSeq) =>
        api.get('/ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}', { ...at, upgrade: id }, { query: { minSeq } }),
      until,
      lines: linesBetweenUpgrades,
      frame: (upgrade, options) => linesOfTree(upgradeTree(upgrade, { ...options, all: false }), options),
    },
    { timeoutMs, quiet },
  ).catch((error: unknown) => {
    throw orContinues(error, stopped);
  });
  if (ended.end === 'reached') return ended.view;
  throw stoppedWatching(ended.end, stopped, timeoutMs);
};

/** However long the checks take, they are shown to be under way no longer than this. */
const PLAN_TIMEOUT_MS = 15 * 60_000;

/** Shorter than the time that an answer may take. */
const PLAN_WAIT_SECONDS = 50;

/** An answer that takes longer needs a word about what it waits for. */
const QUIET_MS = 1_000;

const requestedUpgrade = async (
  api: Api,
  at: ClusterAt,
  request: {
    readonly query: { readonly dryRun: 'true' | 'false' };
    readonly body: UpgradeFields;
    readonly key: string;
  },
): Promise<UpgradeView> => {
  const options = { ...request, waitSeconds: PLAN_WAIT_SECONDS };
  return (await api.post('/ns/{namespace}/clusters/{cluster}/upgrades', at, options)).data;
};

/** Requests an upgrade, or a dry run of one, and waits for its plan, which the answer nearly always holds already. */
export const plannedUpgrade = async (
  { api, io }: Pick<Session, 'api' | 'io'>,
  at: ClusterAt,
  body: UpgradeFields,
  { key = randomUUID(), ...query }: { readonly dryRun: 'true' | 'false'; readonly key?: string | undefined },
): Promise<UpgradeView> => {
  let isSaid = false;
  const say = (): void => {
    if (!isSaid) io.err(`Checking the rules against ${at.cluster} ...\n`);
    isSaid = true;
  };
  const notice = setTimeout(say, QUIET_MS);
  const upgrade = await requestedUpgrade(api, at, { query, body, key }).finally(() => clearTimeout(notice));
  if (hasPlan(upgrade)) return upgrade;
  say();
  return followUpgrade(api, io, { at, id: upgrade.id }, { until: hasPlan, timeoutMs: PLAN_TIMEOUT_MS, quiet: true });
};

export const steerUpgrade = async (
  api: Api,
  names: ClusterAt & { readonly upgrade: string },
  { action, ...body }: Steering,
): Promise<UpgradeView> => {
  const route = `/ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}/${action}` as const;
  return (await api.post(route, names, Object.keys(body).length === 0 ? {} : { body })).data;
};

const howToComeBack = (at: ClusterAt): string =>
  `Come back with "${commandAt('upgrade status', at, '--watch')}"; stop it with "${commandAt('upgrade pause', at)}".`;
