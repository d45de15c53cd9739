import type { Api, ClusterAt, UpgradeView } from '../api/api.ports.js';
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
      read: (minSeq) => api.upgrade(at, id, minSeq),
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

/** Until there is a plan, which the answer to the request nearly always holds already. */
export const planned = async (
  { api, io }: Pick<Session, 'api' | 'io'>,
  at: ClusterAt,
  upgrade: UpgradeView,
): Promise<UpgradeView> => {
  if (hasPlan(upgrade)) return upgrade;
  io.err(`The rules are being checked, and ${at.cluster} is looked at ...\n`);
  return followUpgrade(api, io, { at, id: upgrade.id }, { until: hasPlan, timeoutMs: PLAN_TIMEOUT_MS, quiet: true });
};

const howToComeBack = (at: ClusterAt): string =>
  `Come back with "${commandAt('upgrade status', at, '--watch')}"; stop it with "${commandAt('upgrade pause', at)}".`;
