import type { Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import { clusterAt } from '../command/session.js';
import type { Io } from '../io/io.js';
import { withDocument } from './one.cluster.effects.js';

interface ReasonOption {
  readonly reason: string;
}

export const addPause = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'pause <cluster>',
    summary: 'Pause a cluster',
    description:
      'Stop all work on a cluster until it is resumed. Work in progress stops at its next safe point, and nothing is lost. While a cluster is paused, requests that would change it are refused, including its deletion.',
    examples: [
      [
        'fairlead cluster pause demo --reason "the provider is under maintenance"',
        'Pause a cluster, and record the reason',
      ],
    ],
  })
    .option('--reason <text>', 'reason, recorded in the history', '')
    .action(
      runs(io, async (session, name: string, { reason }: ReasonOption) =>
        withDocument(
          session,
          (
            await session.api.post('/ns/{namespace}/clusters/{cluster}/pause', clusterAt(session, name), {
              body: { reason },
            })
          ).data,
        ),
      ),
    );
};

export const addRetryNetwork = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'retry-network <cluster>',
    summary: 'Apply the network configuration again where it failed',
    description:
      'Apply the declared firewall and SSH server configuration again on nodes that reverted it, because they lost their connection to NATS or because it was not valid. If the manifest is wrong, change it instead.',
    examples: [['fairlead cluster retry-network demo', 'Retry after the cause was fixed']],
  }).action(
    runs(io, async (session, name: string) =>
      withDocument(
        session,
        (await session.api.post('/ns/{namespace}/clusters/{cluster}/network/retry', clusterAt(session, name))).data,
      ),
    ),
  );
};

export const addResume = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'resume <cluster>',
    summary: 'Resume a paused cluster',
    description: 'Continue the work on a paused cluster where it was interrupted. Time limits start again.',
    examples: [['fairlead cluster resume demo', 'Resume a cluster']],
  })
    .option('--reason <text>', 'reason, recorded in the history', '')
    .action(
      runs(io, async (session, name: string, { reason }: ReasonOption) =>
        withDocument(
          session,
          (
            await session.api.post('/ns/{namespace}/clusters/{cluster}/resume', clusterAt(session, name), {
              body: { reason },
            })
          ).data,
        ),
      ),
    );
};
