import { Option, type Command } from 'commander';
import { QUARANTINE_RELEASE_MODES } from './quarantine.modes.js';
import type { QuarantineReleaseRequest } from '@fairlead/contracts';
import { addCommand, addGroup, runs } from '../command/command.js';
import type { Io } from '../io/io.js';
import { optional, prose } from '../output/table.js';

interface ReleaseOptions {
  readonly service: string;
  readonly consumer: string;
  readonly mode: QuarantineReleaseRequest['mode'];
}

export const addQuarantineCommands = (program: Command, io: Io): void => {
  const quarantined = addGroup(
    program,
    'quarantine',
    'List and release clusters whose events a service could not process',
  );
  addCommand(quarantined, {
    usage: 'list',
    shared: 'installation',
    summary: 'List quarantined clusters and the reasons',
    examples: [['fairlead quarantine list', 'List quarantined clusters']],
  })
    .alias('ls')
    .action(
      runs(io, async (session) => {
        const items = await session.api.list('/quarantine');
        return {
          data: items,
          table: {
            columns: ['namespace', 'cluster', 'service', 'consumer', 'seq', prose('message')],
            rows: items.map(({ namespace, cluster, service, consumer, seq, error }) => [
              namespace,
              cluster,
              service,
              consumer,
              String(seq),
              error,
            ]),
            empty: 'Nothing is quarantined.',
          },
          names: items.map(({ namespace, cluster }) => `${namespace}/${cluster}`),
        };
      }),
    );
  addRejected(quarantined, io);
  addRelease(quarantined, io);
};

const addRejected = (quarantined: Command, io: Io): void => {
  addCommand(quarantined, {
    usage: 'rejected',
    shared: 'installation',
    summary: 'List messages in the log that are not events',
    description:
      'List streams of the log with messages that are not valid events: the body cannot be parsed or does not match its subject. Every service skips them. They were written by the owner of a credential for that subject.',
    examples: [['fairlead quarantine rejected', 'List streams with rejected messages']],
  }).action(
    runs(io, async (session) => {
      const { rejected: items } = await session.api.get('/quarantine');
      return {
        data: items,
        table: {
          columns: ['stream', 'reason', 'count', optional('last seq', 1), prose('message')],
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

const addRelease = (quarantined: Command, io: Io): void => {
  addCommand(quarantined, {
    usage: 'release <cluster>',
    summary: 'Release a quarantined cluster',
    description: 'Release a quarantined cluster after the cause was fixed. The history of the cluster records it.',
    examples: [
      ['fairlead quarantine release demo --service infra-svc --consumer clusters', 'Process the event again'],
      ['fairlead quarantine release demo --service infra-svc --consumer clusters --mode skip', 'Skip the event'],
    ],
  })
    .requiredOption('--service <name>', 'service that quarantined the cluster')
    .requiredOption('--consumer <name>', 'consumer of that service')
    .addOption(
      new Option('--mode <mode>', 'retry the event, skip it, or replay the cluster from the log')
        .choices(QUARANTINE_RELEASE_MODES)
        .default('retry'),
    )
    .action(
      runs(io, async (session, cluster: string, { service, consumer, mode }: ReleaseOptions) => {
        const { namespace } = session;
        await session.api.post('/quarantine/release', {}, { body: { service, consumer, namespace, cluster, mode } });
        return {
          data: { service, consumer, namespace, cluster, mode },
          table: `${namespace}/${cluster} goes on at ${service} (${mode}).`,
          names: [cluster],
        };
      }),
    );
};
