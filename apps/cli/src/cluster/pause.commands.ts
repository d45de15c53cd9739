import type { Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import { clusterAt } from '../command/session.js';
import type { Io } from '../io/io.js';
import { clusterAnswer } from './cluster.answers.js';

interface ReasonOption {
  readonly reason: string;
}

export const addPause = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'pause <cluster>',
    summary: 'Pause a cluster',
    description:
      'Stop all work on a cluster until it is resumed. Work in progress stops at its next safe point, and nothing is lost. Requests that would change the cluster are refused meanwhile, its deletion included; reads are answered.',
    examples: [
      ['fairlead cluster pause demo --reason "the provider is under maintenance"', 'Pause it, and record why'],
    ],
  })
    .option('--reason <text>', 'why; it is recorded in the history', '')
    .action(
      runs(io, async (session, name: string, { reason }: ReasonOption) =>
        clusterAnswer(await session.api.pauseCluster(clusterAt(session, name), reason), io.now()),
      ),
    );
};

export const addRetryNetwork = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'retry-network <cluster>',
    summary: 'Apply the network configuration again where it failed',
    description:
      'Nodes that have reverted a firewall or an SSH server, because they no longer reached NATS or because it was refused, try it once more. Change the manifest instead if it is wrong.',
    examples: [['fairlead cluster retry-network demo', 'Try again, after the cause is repaired']],
  }).action(
    runs(io, async (session, name: string) =>
      clusterAnswer(await session.api.retryNetwork(clusterAt(session, name)), io.now()),
    ),
  );
};

export const addResume = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'resume <cluster>',
    summary: 'Resume a paused cluster',
    description: 'Let work on a paused cluster continue where it was interrupted. Time limits start again.',
    examples: [['fairlead cluster resume demo', 'Continue']],
  })
    .option('--reason <text>', 'why; it is recorded in the history', '')
    .action(
      runs(io, async (session, name: string, { reason }: ReasonOption) =>
        clusterAnswer(await session.api.resumeCluster(clusterAt(session, name), reason), io.now()),
      ),
    );
};
