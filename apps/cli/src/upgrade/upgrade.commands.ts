import type { Command } from 'commander';
import type { ClusterAt, UpgradeView, UpgradeFields } from '../api/views.js';
import { clusterAt } from '../command/session.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { withFormerFlag } from '../command/former.js';
import { addWaitsByDefault } from '../command/waiting.js';
import { duration } from '../command/parsers.js';
import type { Session } from '../command/session.js';
import { CliFailure, usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { commandAt } from '../progress/stopped.watching.js';
import { planText } from './plan.text.js';
import { addSteeringCommands } from './steering.commands.js';
import { orFail, planAnswer, statusAnswer, summaryAnswer, upgradesAnswer } from './upgrade.answers.js';
import { followUpgrade, isChecked, isOver, plannedUpgrade, steerUpgrade } from './upgrade.follow.effects.js';
import {
  addWhichOption,
  addRequestOptions,
  upgradeMeant,
  fieldsOf,
  type WhichUpgrade,
  type RequestOptions,
} from './upgrade.options.js';

export const addUpgradeCommands = (program: Command, io: Io): void => {
  const upgrade = addGroup(
    program,
    'upgrade',
    'Upgrade Kubernetes and other software, renew certificates, reboot nodes',
  ).alias('upgrades');
  addPlan(upgrade, io);
  addStart(upgrade, io);
  addStatus(upgrade, io);
  addList(upgrade, io);
  addSteeringCommands(upgrade, io);
};

const addPlan = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'plan <cluster>',
    summary: 'Show what an upgrade would do, without changing anything',
    description:
      'Check every rule and show the plan: operations with their reasons, batches, estimated times, and the findings of the checks. Nothing is changed, and the plan needs no approval.',
    examples: [
      ['fairlead upgrade plan demo --to v1.35.4', 'Plan an upgrade to the next minor version'],
      [
        'fairlead upgrade plan demo --to v1.35.4 --max-unavailable 25% --soak 5m',
        'Upgrade a quarter of each pool at a time',
      ],
      [
        'fairlead upgrade plan demo --certificates --no-workers --output json',
        'Print the plan of a certificate renewal as JSON',
      ],
    ],
  });
  addRequestOptions(command).action(
    runs(io, async (session, name: string, options: RequestOptions) => {
      const at = clusterAt(session, name);
      const upgrade = await plannedUpgrade(session, at, await fieldsOf(session, options), { dryRun: 'true' });
      if (upgrade.phase === 'Rejected') io.err(`${planText(upgrade, io.errColumns())}\n\n`);
      return planAnswer(orFail(upgrade));
    }),
  );
};

interface WatchOptions {
  readonly wait?: boolean;
  readonly timeout?: number;
}

/** How a plan becomes a rollout, and who watches it. */
export type RunOptions = WatchOptions & { readonly yes?: true; readonly idempotencyKey?: string };

export const addStartOptions = (command: Command, io: Io): Command =>
  withFormerFlag(
    addWaitsByDefault(command.option('-y, --yes', 'approve the plan without asking'), 'the rollout ends')
      .option('--timeout <duration>', 'how long to wait; the rollout continues on the server', duration)
      .option(
        '--idempotency-key <key>',
        'repeating the request with the same key has no further effect (default: generated)',
      ),
    io,
    '--detach',
    '--no-wait',
  );

const addStart = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'start <cluster>',
    summary: 'Plan an upgrade, and run it after approval',
    description:
      'Plan an upgrade, show the plan, and ask for approval of its hash. Then follow the rollout node by node; Ctrl-C stops following, not the rollout. Without a terminal, --yes is required.',
    examples: [
      ['fairlead upgrade start demo --to v1.35.4', 'Show the plan, confirm it, and follow the rollout'],
      [
        'fairlead upgrade start demo --to v1.35.4 --yes --no-wait',
        'Approve the plan without asking, and exit when the rollout has started',
      ],
      [
        'fairlead upgrade start demo --software containerd=1.7.24 --pool worker-1',
        'Change the container runtime of one pool',
      ],
      [
        'fairlead upgrade start demo --to v1.35.4 --wait-for-checks --yes --no-wait',
        'Begin as soon as every check holds, e.g. when a node is Ready again',
      ],
    ],
  });
  addRequestOptions(command).option(
    '--wait-for-checks',
    'while a check fails, wait and check again every 15 s, instead of being rejected',
  );
  addStartOptions(command, io).action(
    runs(io, async (session, name: string, options: RequestOptions & RunOptions) =>
      runUpgrade(session, clusterAt(session, name), await fieldsOf(session, options), options),
    ),
  );
};

/** What is asked for, as a command that plans it; how its nodes are changed is in the other options that were given. */
const planCommand = (at: ClusterAt, request: UpgradeFields): string => {
  const { version, software = {}, renewCertificates, reboot, pools, controlPlane } = request;
  return commandAt(
    'upgrade plan',
    at,
    ...(version === undefined ? [] : ['--to', version]),
    ...Object.entries(software).flatMap(([name, value]) => ['--software', `${name}=${value}`]),
    ...(renewCertificates === true ? ['--certificates'] : []),
    ...(reboot === true ? ['--reboot'] : []),
    ...(pools?.length === 0 ? ['--no-workers'] : (pools ?? []).flatMap((pool) => ['--pool', pool])),
    ...(controlPlane === false ? ['--no-control-plane'] : []),
  );
};

/** Plans, shows, asks, approves by hash and watches. */
export const runUpgrade = async (
  session: Session,
  at: ClusterAt,
  request: UpgradeFields,
  options: RunOptions,
): Promise<CommandOutput> => {
  const { api, io } = session;
  if (options.yes !== true && io.ask === undefined)
    throw usageFailure(
      'There is no terminal for the approval of the plan; nothing was changed',
      `See the plan with "${planCommand(at, request)}", then give --yes.`,
    );
  const waits = request.waitForChecks === true;
  // What waits for its checks is approved beforehand: they may hold much later.
  const asked = waits && options.yes === true ? { ...request, approved: true } : request;
  const first = await plannedUpgrade(session, at, asked, { dryRun: 'false', key: options.idempotencyKey });
  const upgrade = waits && options.wait !== false ? await checkedUpgrade(session, at, first, options) : first;
  io.err(`${planText(upgrade, io.errColumns())}\n\n`);
  orFail(upgrade);
  if (upgrade.phase === 'Waiting') return watched(session, at, upgrade.id, options);
  if (options.yes !== true && upgrade.phase === 'Planned') await approved(session, at, upgrade);
  await steerUpgrade(api, { ...at, upgrade: upgrade.id }, { action: 'approve', planHash: upgrade.planHash ?? '' });
  return watched(session, at, upgrade.id, options);
};

/** Shows what it waits for, until every check holds. */
const checkedUpgrade = async (
  { api, io }: Session,
  at: ClusterAt,
  upgrade: UpgradeView,
  { timeout: timeoutMs }: WatchOptions,
): Promise<UpgradeView> =>
  isChecked(upgrade) ? upgrade : followUpgrade(api, io, { at, id: upgrade.id }, { until: isChecked, timeoutMs });

const howToApprove = ({ cluster }: ClusterAt, { planHash }: UpgradeView): string =>
  `Approve it with "fairlead upgrade approve ${cluster} --plan ${planHash}"`;

const waitsForApproval = (at: ClusterAt, upgrade: UpgradeView): string =>
  `${howToApprove(at, upgrade)}, or give it up with "fairlead upgrade abort ${at.cluster}".`;

/** A "no" gives the plan up, so that it blocks nothing. */
const approved = async ({ api, io }: Session, at: ClusterAt, upgrade: UpgradeView): Promise<void> => {
  const asked = io.ask?.('Run this plan? [y/N] ') ?? Promise.resolve('');
  const answer = await asked.catch((error: unknown) => {
    throw io.interrupts.first.aborted ? leftPlanned(at, upgrade) : error;
  });
  if (/^y(es)?$/i.test(answer.trim())) return;
  await steerUpgrade(api, { ...at, upgrade: upgrade.id }, { action: 'abort', reason: 'its plan was not approved' });
  throw new CliFailure('failed', {
    code: 'cli.not-approved',
    message: 'The plan was not approved: nothing was changed',
  });
};

const leftPlanned = (at: ClusterAt, upgrade: UpgradeView): CliFailure =>
  new CliFailure('interrupted', {
    code: 'cli.interrupted',
    message: `Nothing was changed, and the plan ${upgrade.id} waits for an approval`,
    help: waitsForApproval(at, upgrade),
  });

/** What is left to say after everything was watched. */
const watched = async (session: Session, at: ClusterAt, id: string, options: WatchOptions): Promise<CommandOutput> => {
  const { api, io } = session;
  if (options.wait === false) {
    io.err(`Watch it with "fairlead upgrade status ${at.cluster} --watch".\n`);
    return summaryAnswer(
      await api.get('/ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}', { ...at, upgrade: id }),
    );
  }
  session.waitsForServer();
  return summaryAnswer(orFail(await followUpgrade(api, io, { at, id }, { until: isOver, timeoutMs: options.timeout })));
};

type StatusOptions = WhichUpgrade & { readonly watch?: true; readonly all?: true; readonly timeout?: number };

const addStatus = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'status <cluster>',
    summary: 'Show the progress of an upgrade, node by node',
    examples: [
      ['fairlead upgrade status demo', 'Show the current state'],
      ['fairlead upgrade status demo --watch', 'Watch the upgrade until it ends, or until Ctrl-C'],
      ['fairlead upgrade status demo --all --output yaml', 'Print all fields'],
    ],
  });
  addWhichOption(command)
    .option('-w, --watch', 'show the upgrade until it ends')
    .option('--timeout <duration>', 'with --watch: how long to watch', duration)
    .option('--all', 'show all nodes, also those that are done or waiting');
  withFormerFlag(command, io, '--follow', '--watch').action(
    runs(io, async (session, name: string, options: StatusOptions) => {
      const at = clusterAt(session, name);
      const id = await upgradeMeant(session, at, options);
      if (options.watch === true) return watched(session, at, id, options);
      const upgrade = await session.api.get('/ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}', {
        ...at,
        upgrade: id,
      });
      if (upgrade.phase === 'Planned' && upgrade.mode === 'ask') io.err(`${waitsForApproval(at, upgrade)}\n`);
      return statusAnswer(upgrade, io, options.all === true);
    }),
  );
};

const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list <cluster>',
    summary: 'List the upgrades of a cluster, latest first',
    examples: [
      ['fairlead upgrade list demo', 'List the upgrades'],
      ['fairlead upgrade list demo --all', 'List dry runs, too'],
    ],
  })
    .alias('ls')
    .option('--all', 'list dry runs, too')
    .action(
      runs(io, async (session, name: string, { all }: { readonly all?: true }) => {
        const upgrades = await session.api.list(
          '/ns/{namespace}/clusters/{cluster}/upgrades',
          clusterAt(session, name),
        );
        return upgradesAnswer(upgrades.filter(({ mode }) => all === true || mode !== 'dry-run'));
      }),
    );
};
