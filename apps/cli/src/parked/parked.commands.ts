import { Option, type Command } from 'commander';
import { PARKED_RELEASE_MODES } from './parked.modes.js';
import type { ParkedReleaseRequest } from '../api/api.ports.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import type { Io } from '../io/io.js';

interface ReleaseOptions {
  readonly service: string;
  readonly consumer: string;
  readonly mode: ParkedReleaseRequest['mode'];
}

export const addParkedCommands = (program: Command, io: Io): void => {
  const parked = addGroup(program, 'parked', 'Clusters whose events a service could not process');
  addCommand(parked, {
    usage: 'list',
    summary: 'List what is parked, and why',
    examples: [['fairlead parked list', 'No cluster waits for a parked one; but a parked one waits for you']],
  })
    .alias('ls')
    .action(
      runs(io, async (session) => {
        const items = await session.api.parked();
        return {
          data: items,
          table: {
            columns: ['namespace', 'cluster', 'service', 'consumer', 'seq', 'error'],
            rows: items.map(({ namespace, cluster, service, consumer, seq, error }) => [
              namespace,
              cluster,
              service,
              consumer,
              String(seq),
              error,
            ]),
            empty: 'Nothing is parked.',
          },
          names: items.map(({ namespace, cluster }) => `${namespace}/${cluster}`),
        };
      }),
    );
  addRejected(parked, io);
  addRelease(parked, io);
};

const addRejected = (parked: Command, io: Io): void => {
  addCommand(parked, {
    usage: 'rejected',
    summary: 'List messages of the log that are no events',
    description:
      'List streams of the log with messages that are no events: the body cannot be read, or does not agree with its subject. Every service skips them. Whoever wrote them has a credential for that subject.',
    examples: [['fairlead parked rejected', 'A node whose messages do not count is shown here']],
  }).action(
    runs(io, async (session) => {
      const items = await session.api.rejected();
      return {
        data: items,
        table: {
          columns: ['stream', 'reason', 'count', 'last seq', 'detail'],
          rows: items.map(({ stream, reason, count, lastSeq, detail }) => [
            stream,
            reason,
            String(count),
            String(lastSeq),
            detail,
          ]),
          empty: 'Every message of the log is an event.',
        },
        names: items.map(({ stream }) => stream),
      };
    }),
  );
};

const addRelease = (parked: Command, io: Io): void => {
  addCommand(parked, {
    usage: 'release <cluster>',
    summary: 'Let a parked cluster go on',
    description:
      'Let a parked cluster go on, after what was wrong is mended. It is recorded in the history of the cluster.',
    examples: [
      ['fairlead parked release demo --service infra-svc --consumer clusters', 'Take the event again'],
      ['fairlead parked release demo --service infra-svc --consumer clusters --mode skip', 'Go on after it'],
    ],
  })
    .requiredOption('--service <name>', 'whose consumer parked it')
    .requiredOption('--consumer <name>', 'which of its consumers')
    .addOption(
      new Option('--mode <mode>', 'retry the event, skip it, or replay the cluster from the log')
        .choices(PARKED_RELEASE_MODES)
        .default('retry'),
    )
    .action(
      runs(io, async (session, cluster: string, { service, consumer, mode }: ReleaseOptions) => {
        const { namespace } = session;
        await session.api.releaseParked({ service, consumer, namespace, cluster, mode });
        return {
          data: { service, consumer, namespace, cluster, mode },
          table: `${namespace}/${cluster} goes on at ${service} (${mode}).`,
          names: [cluster],
        };
      }),
    );
};
