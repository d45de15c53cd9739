import type { Api, ClusterAt, UpgradeView } from '../api/api.ports.js';
import type { Session } from '../command/session.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { formatDuration } from '../output/duration.js';
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
  const { view, end } = await watch(
    api,
    io,
    {
      at,
      from: 0,
      since: ({ lastSeq }) => lastSeq,
      read: (minSeq) => api.upgrade(at, id, minSeq),
      until,
      lines: linesBetweenUpgrades,
      tree: (upgrade, { agoMs }) => upgradeTree(upgrade, { agoMs, all: false }),
    },
    { timeoutMs, quiet },
  );
  if (end === 'reached') return view;
  throw stillGoing(view, end, timeoutMs);
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

const stillGoing = (upgrade: UpgradeView, exit: 'interrupted' | 'timed-out', timeoutMs = 0): CliFailure => {
  const what = `the upgrade ${upgrade.id} of ${upgrade.cluster} continues on the server`;
  return new CliFailure(exit, {
    code: `cli.${exit}`,
    message:
      exit === 'interrupted' ? `Stopped watching: ${what}` : `Not done within ${formatDuration(timeoutMs)}: ${what}`,
    help: `Look again with "fairlead upgrade status ${upgrade.cluster} --follow"; stop it with "fairlead upgrade pause ${upgrade.cluster}".`,
  });
};
