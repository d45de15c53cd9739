import type { Command } from 'commander';
import type { ClusterAt, GenerationManifest, Manifest, ManifestGenerationsView } from '../api/views.js';
import { addCommand, runs } from '../command/command.js';
import { integerBetween } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import { exported, yamlOf } from '../document/manifest.document.js';
import { CliFailure, usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { changeManifest, type ChangeOptions } from './change.effects.js';
import { addChangeOptions } from './change.options.js';
import type { CommandOutput } from '../output/format.js';
import { optional, prose } from '../output/table.js';
import { commandAt } from '../progress/stopped.watching.js';

const GENERATION_MAX = 999_999_999;

/** `history` and `rollback`: the generations of a cluster's declaration, and how to return to one. */
export const addHistoryCommands = (parent: Command, io: Io): void => {
  addHistory(parent, io);
  addRollback(parent, io);
};

type Generation = ManifestGenerationsView['items'][number];

const fieldText = ({ field, before, after }: Generation['changes'][number]): string =>
  before === null ? `+${field}: ${after}` : after === null ? `-${field}: ${before}` : `${field}: ${before} → ${after}`;

const changeText = ({ generation, changes, changesLeftOut, event }: Generation): string => {
  if (generation === 1) return event.sentence;
  return [...changes.map(fieldText), ...(changesLeftOut === 0 ? [] : [`${changesLeftOut} more`])].join('; ');
};

const addHistory = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'history <cluster>',
    summary: 'List what a cluster was declared to be, who changed it, and what',
    description:
      'List the generations of the manifest of a cluster, latest first. Each change of what is declared makes one, whichever command, route or event made it. Works for a deleted cluster, too.',
    examples: [
      ['fairlead cluster history demo', 'List the generations, with actor and change'],
      ['fairlead cluster history demo --generation 2 > demo.yaml', 'Print the manifest of one of them'],
      ['fairlead cluster history demo --generation 2 | fairlead apply -f -', 'Create a deleted cluster again'],
      ['fairlead cluster rollback demo --to 2 --dry-run', 'Show what declaring it again would change'],
    ],
  })
    .option('--generation <number>', 'print the manifest of this generation', integerBetween(1, GENERATION_MAX))
    .action(
      runs(io, async (session, name: string, { generation }: { readonly generation?: number }) => {
        const at = clusterAt(session, name);
        return generation === undefined ? historyAnswer(session, at) : manifestAnswer(session, at, generation);
      }),
    );
};

const historyAnswer = async ({ api, io }: Session, at: ClusterAt): Promise<CommandOutput> => {
  const history = await api.get('/ns/{namespace}/clusters/{cluster}/manifest/generations', at);
  const { items, earlierLeftOut } = history;
  if (earlierLeftOut > 0)
    io.err(`${earlierLeftOut} earlier generations are not listed; --generation prints any of them.\n`);
  return {
    data: history,
    table: {
      columns: ['generation', optional('event', 2), optional('time', 1), 'actor', prose('change')],
      rows: items.map((one) => [
        `${one.generation}${one.current ? ' (current)' : ''}`,
        `${one.event.type} (${one.event.seq})`,
        one.event.time,
        one.event.actor,
        changeText(one),
      ]),
      empty: `Nothing was declared of ${at.cluster}.`,
    },
    names: items.map(({ generation }) => String(generation)),
  };
};

const manifestAnswer = async ({ api }: Session, at: ClusterAt, generation: number): Promise<CommandOutput> => {
  const manifest = exported(
    await api.get('/ns/{namespace}/clusters/{cluster}/manifest/generations/{generation}', {
      ...at,
      generation: String(generation),
    }),
  );
  return { data: manifest, table: yamlOf(manifest), names: [at.cluster] };
};

interface RollbackOptions extends ChangeOptions {
  readonly to?: number;
  readonly keepVersion?: true;
}

const addRollback = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'rollback <cluster>',
    summary: 'Declare an earlier generation of a cluster again',
    description:
      'Show what differs between the cluster and an earlier generation of its manifest, with the plan; after confirmation, declare that generation again and follow the progress. It becomes the latest generation: nothing of the history is lost, and the rollback can be rolled back. Whether the cluster is paused is left as it is. Kubernetes does not return to an earlier minor version: use --keep-version.',
    examples: [
      ['fairlead cluster rollback demo', 'Undo the latest change'],
      ['fairlead cluster rollback demo --to 2 --dry-run', 'Show what would change, without changing anything'],
      ['fairlead cluster rollback demo --to 2 --keep-version --yes', 'Undo everything but the upgrade since'],
    ],
  })
    .alias('undo')
    .option(
      '--to <generation>',
      'which one, as "fairlead cluster history" lists them (default: the one before the latest)',
      integerBetween(1, GENERATION_MAX),
    )
    .option('--keep-version', 'leave the version of Kubernetes as it is');
  addChangeOptions(command).action(
    runs(io, async (session, name: string, options: RollbackOptions) =>
      rollBack(session, clusterAt(session, name), options),
    ),
  );
};

const rollBack = async (session: Session, at: ClusterAt, options: RollbackOptions): Promise<CommandOutput> => {
  const { api } = session;
  const current = await api.get('/ns/{namespace}/clusters/{cluster}/manifest', at);
  const to = options.to ?? (await generationBefore(session, at));
  const kept = options.keepVersion === true ? { version: current.spec.version } : {};
  const manifest = declaredAgain(
    await api.get('/ns/{namespace}/clusters/{cluster}/manifest/generations/{generation}', {
      ...at,
      generation: String(to),
    }),
    current.metadata.resourceVersion,
    kept,
  );
  return changeManifest(session, at, manifest, options).catch((error: unknown) => {
    throw withAdvice(error, at, to, options);
  });
};

const generationBefore = async ({ api }: Session, at: ClusterAt): Promise<number> => {
  const { items } = await api.get('/ns/{namespace}/clusters/{cluster}/manifest/generations', at);
  const before = items[1];
  if (before === undefined)
    throw usageFailure(
      `${at.cluster} has one generation only: nothing of it was changed`,
      `"${commandAt('cluster history', at)}" lists them.`,
    );
  return before.generation;
};

/**
 * Omitted fields keep their values: labels that the generation does not have are removed explicitly, and a pause is not
 * changed.
 */
const declaredAgain = (generation: GenerationManifest, resourceVersion: string, kept: object): Manifest => {
  const { metadata, spec, ...type } = exported(generation);
  const { paused: _paused, ...declared } = spec;
  return {
    ...type,
    metadata: { ...metadata, labels: metadata.labels ?? {}, resourceVersion },
    spec: { ...declared, ...kept },
  };
};

/** If only the version cannot be restored, the user is advised to restore the rest. */
const withAdvice = (error: unknown, at: ClusterAt, to: number, { keepVersion }: RollbackOptions): unknown => {
  const isOfVersion = error instanceof CliFailure && error.field === 'spec.version';
  if (!isOfVersion || keepVersion === true) return error;
  const command = commandAt('cluster rollback', at, `--to ${to} --keep-version`);
  const { exit, code, message, field, further } = error;
  return new CliFailure(exit, {
    code,
    message,
    field,
    further,
    help: `Undo everything else with "${command}".`,
    cause: error,
  });
};
