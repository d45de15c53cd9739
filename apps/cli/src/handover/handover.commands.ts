import { randomBytes, randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { handoverWords, holdsLog, epochOf } from '@fairlead/contracts';
import type { LogState } from '@fairlead/event-sourcing/streams';
import type { Command } from 'commander';
import { addCommand, addGroup, runs } from '../command/command.js';
import type { NatsSettings } from '../instance/administrator.effects.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
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
  const handover = addGroup(program, 'handover', 'Move an installation with its clusters to another one');
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
      'address of NATS (default: the instance of the data folder, which is started if it is not running)',
    )
    .option('--nats-ca <file>', 'CA certificate for a tls:// address (default: keys/nats-ca.pem in the data folder)');

const settingsOf = (io: Io, { data, nats, natsCa }: Given): NatsSettings => ({
  dataDir: resolve(io.cwd, data),
  nats,
  natsCa: natsCa === undefined ? undefined : resolve(io.cwd, natsCa),
});

/** Runs work on the installation that the options name, and returns its answer. */
const on = async (
  io: Io,
  given: Given,
  work: (installation: Installation) => Promise<CommandOutput>,
): Promise<CommandOutput> => {
  const { onInstallation } = await import('./access.effects.js');
  const answers: CommandOutput[] = [];
  await inSentences(async () => {
    answers.push(await onInstallation(settingsOf(io, given), io.env, work));
  });
  return answers[0]!;
};

const answerOf = (data: Readonly<Record<string, string | number>>, text: string, name: string): CommandOutput => ({
  data,
  table: text,
  names: [name],
});

const addPrepare = (handover: Command, io: Io): void => {
  withPlace(
    addCommand(handover, {
      usage: 'prepare',
      summary: 'At the target: create a key for the export, and print it',
      description:
        'Create a key pair in the data folder of a new installation, and print the public key. Do not start the services before the import: the log must be empty.',
      shared: 'output',
      examples: [
        [
          'fairlead handover prepare --data /srv/fairlead',
          'Create the key; then, at the source: fairlead handover export --to <key>',
        ],
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
      summary: 'At the source: stop all work, and export the installation to a file',
      description:
        'Close the log to all writers, wait until the services have stopped, and write the history, secrets and etcd list to a file. Only the key of the target decrypts the secrets. The file is signed, and the key that verifies the signature is printed. From then on this installation is read-only, until "fairlead handover cancel". If the command is interrupted, run it again.',
      shared: 'output',
      examples: [
        [
          'fairlead handover export --data .fairlead --to XABC... --file fairlead.handover',
          'Export to a file; then copy it to the target',
        ],
      ],
    }),
  )
    .requiredOption('--to <key>', 'key printed by "fairlead handover prepare" at the target')
    .requiredOption('--file <file>', 'file to write; an existing file is replaced')
    .action(
      runs(io, async (_session, given: Given & { readonly to: string; readonly file: string }) => {
        const { exportInstallation } = await import('./handover.effects.js');
        const file = resolve(io.cwd, given.file);
        return on(io, given, async (installation) => {
          const { id, events, source } = await exportInstallation(installation, { target: given.to, file }, fresh());
          return answerOf(
            { id, events, file, source },
            `Handover ${id}: ${events} events are in ${file}, signed by ${source}. Import it at the target: fairlead handover import ${given.file} --from ${source}`,
            source,
          );
        });
      }),
    );
};

const addImport = (handover: Command, io: Io): void => {
  withPlace(
    addCommand(handover, {
      usage: 'import <file>',
      summary: 'At the target: import the file, and print the receipt',
      description:
        'Verify the file and the signature of the source, and import it into this empty installation. A file that another key signed is refused. The services do not start until the installation is activated. If the command is interrupted, run it again: it resumes.',
      shared: 'output',
      examples: [
        [
          'fairlead handover import --data /srv/fairlead --from UABC... fairlead.handover',
          'Import the file; then, at the source: fairlead handover release',
        ],
      ],
    }),
  )
    .requiredOption('--from <key>', 'key printed by "fairlead handover export" at the source')
    .action(
      runs(io, async (_session, path: string, given: Given & { readonly from: string }) => {
        const { importInstallation } = await import('./handover.effects.js');
        const file = resolve(io.cwd, path);
        return on(io, given, async (installation) => {
          const { id, events, receipt } = await importInstallation(installation, { file, source: given.from });
          return answerOf(
            { id, events, receipt, source: given.from },
            `${events} events were imported, signed by ${given.from}. At the source: fairlead handover release --receipt ${receipt}`,
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
      summary: 'At the source: retire the installation permanently, and print the activation code',
      description:
        'Seal the log in NATS and print the activation code for the target. This cannot be undone. Running the command again prints the same code.',
      shared: 'output',
      examples: [
        [
          'fairlead handover release --data .fairlead --receipt 0a1b...',
          'Release the installation; then, at the target: fairlead handover activate',
        ],
      ],
    }),
  )
    .requiredOption('--receipt <receipt>', 'receipt printed by "fairlead handover import" at the target')
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
      summary: 'At the target: take over the clusters',
      description:
        'Open the log with the activation code of the source. When the services start, they switch the agents of all nodes to this installation over SSH, and continue where the source stopped. Machines are not changed.',
      shared: 'output',
      examples: [
        [
          'fairlead handover activate --data /srv/fairlead --code 4f3c...',
          'Activate the installation; then start it: fairlead up',
        ],
      ],
    }),
  )
    .requiredOption('--code <code>', 'code printed by "fairlead handover release" at the source')
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
      summary: 'At the source: cancel a handover that was not released, and resume work',
      description:
        'Reopen the log. The exported file can then no longer be activated at the target. Refused after "fairlead handover release".',
      shared: 'output',
      examples: [['fairlead handover cancel --data .fairlead', 'Cancel the handover; the services resume']],
    }),
  ).action(
    runs(io, async (_session, given: Given) => {
      const { cancelHandover } = await import('./handover.effects.js');
      return on(io, given, async (installation) => {
        const { changed } = await cancelHandover(installation);
        return answerOf(
          { cancelled: changed ? 1 : 0 },
          changed ? 'Cancelled: this installation resumes its work.' : 'There is no handover to cancel.',
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
      summary: 'Show whether an installation is active, and the progress of a handover',
      shared: 'output',
      examples: [['fairlead handover status --data .fairlead', 'Show the status; GET /handover returns the same']],
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
