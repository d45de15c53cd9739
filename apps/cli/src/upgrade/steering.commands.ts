import type { Command } from 'commander';
import type { ClusterAt, Steering, UpgradeView } from '../api/views.js';
import { clusterAt } from '../command/session.js';
import { addCommand, runs, type CommandDefinition } from '../command/command.js';
import { withFormerFlag } from '../command/former.js';
import { addWaitOptions, checkWaitOptions } from '../command/waiting.js';
import type { Session } from '../command/session.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { orFail, summaryAnswer } from './upgrade.answers.js';
import { followUpgrade, isOver, steerUpgrade } from './upgrade.follow.effects.js';
import { addWhichOption, upgradeMeant, type WhichUpgrade } from './upgrade.options.js';

interface SteeringOptions extends WhichUpgrade {
  readonly wait?: boolean;
  readonly timeout?: number;
  readonly reason?: string;
  readonly plan?: string;
}

/** One command that steers: what the words of the command line ask for. */
interface SteeringDefinition extends CommandDefinition {
  /** Whether there is something to watch afterwards. */
  readonly goesOn: boolean;
  readonly reason?: 'optional' | 'needed';
  readonly steering: (options: SteeringOptions, argument: string) => Steering | ((of: UpgradeView) => Steering);
}

const reasonOf = ({ reason = '' }: SteeringOptions): string => reason;

const approveIt =
  ({ plan }: SteeringOptions) =>
  ({ planHash, id, cluster }: UpgradeView): Steering => {
    if (plan !== undefined) return { action: 'approve', planHash: plan };
    throw new CliFailure('usage', {
      code: 'cli.plan-hash-missing',
      message: `An approval names the plan that you have read: add --plan <hash>`,
      help:
        planHash === null
          ? `The upgrade ${id} of ${cluster} has no plan yet.`
          : `The plan of ${id} has the hash ${planHash}; read it with "fairlead upgrade status ${cluster} --all".`,
    });
  };

const COMMANDS: readonly SteeringDefinition[] = [
  {
    usage: 'approve <cluster>',
    summary: 'Approve a plan that is waiting for approval',
    examples: [
      [
        'fairlead upgrade approve demo --plan 9c1f... --wait',
        'Approve the plan with this hash, and follow the rollout',
      ],
    ],
    goesOn: true,
    steering: (options) => approveIt(options),
  },
  {
    usage: 'pause <cluster>',
    summary: 'Pause a rollout; nodes in progress are finished',
    examples: [['fairlead upgrade pause demo --reason "a release is due today"', 'Pause, and record the reason']],
    goesOn: false,
    reason: 'optional',
    steering: (options) => ({ action: 'pause', reason: reasonOf(options) }),
  },
  {
    usage: 'resume <cluster>',
    summary: 'Resume a rollout that was paused or has halted',
    examples: [['fairlead upgrade resume demo --wait', 'Follow the rollout']],
    goesOn: true,
    steering: () => ({ action: 'resume' }),
  },
  {
    usage: 'abort <cluster>',
    summary: 'Abort an upgrade; nodes in progress are finished, and failed ones that are Ready take pods again',
    examples: [['fairlead upgrade abort demo --reason "wrong version"', 'Abort; changes that were made stay']],
    goesOn: false,
    reason: 'optional',
    steering: (options) => ({ action: 'abort', reason: reasonOf(options) }),
  },
  {
    usage: 'retry <cluster>',
    summary: 'Retry what failed',
    examples: [['fairlead upgrade retry demo --wait', 'Follow the rollout']],
    goesOn: true,
    steering: () => ({ action: 'retry' }),
  },
  {
    usage: 'skip <cluster> <node>',
    summary: 'Skip a worker in this upgrade',
    examples: [
      ['fairlead upgrade skip demo demo-w-2-k3x9q --reason "it will be replaced"', 'Skip a node; the others continue'],
    ],
    goesOn: false,
    reason: 'optional',
    steering: (options, node) => ({ action: 'skip', node, reason: reasonOf(options) }),
  },
  {
    usage: 'rollback <cluster> <node>',
    summary: 'Restore the previous software of a failed worker',
    examples: [['fairlead upgrade rollback demo demo-w-2-k3x9q --wait', 'Roll back a failed worker, and follow it']],
    goesOn: true,
    steering: (_options, node) => ({ action: 'rollback', node }),
  },
  {
    usage: 'override <cluster> <rule>',
    summary: 'Override a safety rule for this upgrade',
    description:
      'Override a safety rule for this upgrade. The history records it with your name. Some rules cannot be overridden. To override a rule of an upgrade that was rejected, start it again with --override.',
    examples: [['fairlead upgrade override demo D7 --reason "it is urgent"', 'Override a gate that you declared']],
    goesOn: false,
    reason: 'needed',
    steering: (options, rule) => ({ action: 'override', rule, reason: reasonOf(options) }),
  },
];

export const addSteeringCommands = (parent: Command, io: Io): void => {
  for (const definition of COMMANDS) addSteering(parent, definition, io);
};

const addSteering = (parent: Command, definition: SteeringDefinition, io: Io): void => {
  const { goesOn, reason, usage } = definition;
  const command = addWhichOption(addCommand(parent, definition));
  if (usage.startsWith('approve')) command.option('--plan <hash>', 'hash of the plan to approve');
  if (reason === 'optional') command.option('--reason <text>', 'reason, recorded in the history');
  if (reason === 'needed') command.requiredOption('--reason <text>', 'reason, recorded in the history');
  if (goesOn) withFormerFlag(addWaitOptions(command), io, '--watch', '--wait');
  const hasArgument = /> </.test(usage);
  command.action(
    hasArgument
      ? runs(io, (session, name: string, argument: string, options: SteeringOptions) =>
          steer(session, { name, argument, options }, definition),
        )
      : runs(io, (session, name: string, options: SteeringOptions) =>
          steer(session, { name, argument: '', options }, definition),
        ),
  );
};

interface SteeringWords {
  readonly name: string;
  readonly argument: string;
  readonly options: SteeringOptions;
}

const steer = async (
  session: Session,
  { name, argument, options }: SteeringWords,
  definition: SteeringDefinition,
): Promise<CommandOutput> => {
  const { api, io } = session;
  checkWaitOptions(options);
  const at: ClusterAt = clusterAt(session, name);
  const id = await upgradeMeant(session, at, options);
  const asked = definition.steering(options, argument);
  const steering =
    typeof asked === 'function'
      ? asked(await api.get('/ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}', { ...at, upgrade: id }))
      : asked;
  const upgrade = await steerUpgrade(api, { ...at, upgrade: id }, steering);
  if (options.wait !== true) return summaryAnswer(upgrade);
  session.waitsForServer();
  const hasMoved = (view: UpgradeView): boolean => isOver(view) && view.lastSeq > upgrade.lastSeq;
  return summaryAnswer(
    orFail(await followUpgrade(api, io, { at, id }, { until: hasMoved, timeoutMs: options.timeout })),
  );
};
