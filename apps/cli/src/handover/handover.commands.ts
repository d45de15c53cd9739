import { randomBytes, randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { handoverWords, holdsLog, epochOf } from '@fairlead/contracts';
import type { LogState } from '@fairlead/event-sourcing/streams';
import type { Command } from 'commander';
import { addCommand, addGroup, runs } from '../command/command.js';
import type { NatsSettings } from '../instance/administrator.effects.js';
import type { Io } from '../io/io.js';
import type { Answer } from '../output/format.js';
import { inSentences } from '../provision/provision.commands.js';
import type { Fresh } from './handover.effects.js';
import type { Installation } from './handover.ports.js';

interface Given {
  readonly data: string;
  readonly nats?: string;
  readonly natsCa?: string;
}

const CODE_BYTES = 32;

const fresh = (): Fresh => ({
  id: randomUUID(),
  code: randomBytes(CODE_BYTES).toString('base64url'),
  at: new Date().toISOString(),
});

export const addHandoverCommands = (program: Command, io: Io): void => {
  const handover = addGroup(program, 'handover', 'Hand an installation over to another one, with its clusters');
  addPrepare(handover, io);
  addExport(handover, io);
  addImport(handover, io);
  addRelease(handover, io);
  addActivate(handover, io);
  addCancel(handover, io);
  addStatus(handover, io);
};

const withPlace = (command: Command): Command =>
  command
    .requiredOption('--data <dir>', 'data folder of the installation')
    .option(
      '--nats <url>',
      'address of NATS (default: that of the instance of the data folder, which is started if it does not run)',
    )
    .option(
      '--nats-ca <file>',
      'authority of the certificate of a tls:// address (default: keys/nats-ca.pem of the data folder)',
    );

const settingsOf = (io: Io, { data, nats, natsCa }: Given): NatsSettings => ({
  dataDir: resolve(io.cwd, data),
  nats,
  natsCa: natsCa === undefined ? undefined : resolve(io.cwd, natsCa),
});

/** Works on the installation that the options name, and answers. */
const on = async (io: Io, given: Given, work: (installation: Installation) => Promise<Answer>): Promise<Answer> => {
  const { onInstallation } = await import('./access.effects.js');
  const answers: Answer[] = [];
  await inSentences(async () => {
    answers.push(await onInstallation(settingsOf(io, given), io.env, work));
  });
  return answers[0]!;
};

const answerOf = (data: Readonly<Record<string, string | number>>, text: string, name: string): Answer => ({
  data,
  table: text,
  names: [name],
});

const addPrepare = (handover: Command, io: Io): void => {
  withPlace(
    addCommand(handover, {
      usage: 'prepare',
      summary: 'At the target: print the key to which the source exports',
      description:
        'Make a key pair in the data folder of a new installation, and print its public half. Its log must be empty: do not start its services before the import.',
      shared: 'output',
      examples: [
        ['fairlead handover prepare --data /srv/fairlead', 'Then, at the source: fairlead handover export --to <key>'],
      ],
    }),
  ).action(
    runs(io, async (_session, given: Given) => {
      const { prepareTarget } = await import('./handover.effects.js');
      return on(io, given, async (installation) => {
        const target = await prepareTarget(installation);
        return answerOf({ target }, target, target);
      });
    }),
  );
};

const addExport = (handover: Command, io: Io): void => {
  withPlace(
    addCommand(handover, {
      usage: 'export',
      summary: 'At the source: stop all work, and write the installation to a file',
      description:
        'Close the log for every writer, wait until the services have stopped, and write the history, the secrets and the snapshots of etcd to a file; its secrets open with the key of the target only. From then on this installation answers reads, and acts on nothing, until "fairlead handover cancel". If the command is interrupted, run it again.',
      shared: 'output',
      examples: [
        [
          'fairlead handover export --data .fairlead --to XABC... --file fairlead.handover',
          'Then copy the file to the target',
        ],
      ],
    }),
  )
    .requiredOption('--to <key>', 'what "fairlead handover prepare" printed at the target')
    .requiredOption('--file <file>', 'the file to write; one that exists is replaced')
    .action(
      runs(io, async (_session, given: Given & { readonly to: string; readonly file: string }) => {
        const { exportInstallation } = await import('./handover.effects.js');
        const file = resolve(io.cwd, given.file);
        return on(io, given, async (installation) => {
          const { id, events } = await exportInstallation(installation, { target: given.to, file }, fresh());
          return answerOf(
            { id, events, file },
            `Hand-over ${id}: ${events} events are in ${file}. Import it at the target: fairlead handover import ${given.file}`,
            id,
          );
        });
      }),
    );
};

const addImport = (handover: Command, io: Io): void => {
  withPlace(
    addCommand(handover, {
      usage: 'import <file>',
      summary: 'At the target: bring in the file, and print the receipt',
      description:
        'Check the file, and bring everything in it into this empty installation. Its services do not start until it is activated. If the command is interrupted, run it again: it continues.',
      shared: 'output',
      examples: [
        [
          'fairlead handover import --data /srv/fairlead fairlead.handover',
          'Then, at the source: fairlead handover release',
        ],
      ],
    }),
  ).action(
    runs(io, async (_session, file: string, given: Given) => {
      const { importInstallation } = await import('./handover.effects.js');
      return on(io, given, async (installation) => {
        const { id, events, receipt } = await importInstallation(installation, resolve(io.cwd, file));
        return answerOf(
          { id, events, receipt },
          `${events} events were imported. At the source: fairlead handover release --receipt ${receipt}`,
          receipt,
        );
      });
    }),
  );
};

const addRelease = (handover: Command, io: Io): void => {
  withPlace(
    addCommand(handover, {
      usage: 'release',
      summary: 'At the source: give the installation up for good, and print the code',
      description:
        'Have NATS seal the log, which cannot be undone, and print the code by which the target is activated. Run again, it prints the same code.',
      shared: 'output',
      examples: [
        [
          'fairlead handover release --data .fairlead --receipt 0a1b...',
          'Then, at the target: fairlead handover activate',
        ],
      ],
    }),
  )
    .requiredOption('--receipt <receipt>', 'what "fairlead handover import" printed at the target')
    .action(
      runs(io, async (_session, given: Given & { readonly receipt: string }) => {
        const { releaseSource } = await import('./handover.effects.js');
        return on(io, given, async (installation) => {
          const { code } = await releaseSource(installation, given.receipt);
          return answerOf({ code }, `Released. At the target: fairlead handover activate --code ${code}`, code);
        });
      }),
    );
};

const addActivate = (handover: Command, io: Io): void => {
  withPlace(
    addCommand(handover, {
      usage: 'activate',
      summary: 'At the target: take the clusters over',
      description:
        'Open the log with the code of the source. The services then start, switch the agents of all nodes to this installation by SSH, and continue where the source stopped. No machine is changed.',
      shared: 'output',
      examples: [
        ['fairlead handover activate --data /srv/fairlead --code 4f3c...', 'Then start the services: fairlead up'],
      ],
    }),
  )
    .requiredOption('--code <code>', 'what "fairlead handover release" printed at the source')
    .action(
      runs(io, async (_session, given: Given & { readonly code: string }) => {
        const { activateTarget } = await import('./handover.effects.js');
        return on(io, given, async (installation) => {
          const { id, epoch } = await activateTarget(installation, given.code);
          return answerOf(
            { id, epoch },
            `This installation holds the log (epoch ${epoch}). Start its services, and replace the credentials of its connections.`,
            id,
          );
        });
      }),
    );
};

const addCancel = (handover: Command, io: Io): void => {
  withPlace(
    addCommand(handover, {
      usage: 'cancel',
      summary: 'At the source: end a hand-over that was not released, and work on',
      description:
        'Open the log again. The target can then never be activated from the exported file. After "fairlead handover release" it is refused.',
      shared: 'output',
      examples: [['fairlead handover cancel --data .fairlead', 'The services continue where they stopped']],
    }),
  ).action(
    runs(io, async (_session, given: Given) => {
      const { cancelHandover } = await import('./handover.effects.js');
      return on(io, given, async (installation) => {
        const { changed } = await cancelHandover(installation);
        return answerOf(
          { cancelled: changed ? 1 : 0 },
          changed ? 'Cancelled: this installation works on.' : 'There is no hand-over to cancel.',
          changed ? 'cancelled' : 'none',
        );
      });
    }),
  );
};

const statusText = ({ record }: LogState): string => {
  if (record === undefined) return 'This installation was never handed over.';
  return holdsLog(record) ? `This installation holds the log: ${handoverWords(record)}.` : `${handoverWords(record)}.`;
};

const addStatus = (handover: Command, io: Io): void => {
  withPlace(
    addCommand(handover, {
      usage: 'status',
      summary: 'Show whether an installation acts on its clusters, and how far a hand-over is',
      shared: 'output',
      examples: [['fairlead handover status --data .fairlead', 'GET /handover answers the same while it runs']],
    }),
  ).action(
    runs(io, async (_session, given: Given) =>
      on(io, given, async (installation) => {
        const state = await installation.state();
        const { record, messages: events } = state;
        const name = record?.state ?? 'none';
        return {
          data: { state: name, holdsLog: holdsLog(record), epoch: epochOf(record), id: record?.id ?? null, events },
          table: statusText(state),
          names: [name],
        };
      }),
    ),
  );
};
