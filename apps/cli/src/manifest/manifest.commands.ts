import type { Command } from 'commander';
import { deleteCluster, type DeleteOptions } from '../cluster/cluster.commands.js';
import { addConfirmOption } from '../command/confirm.js';
import { addCommand, runs } from '../command/command.js';
import { collected } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import { addWaitOptions } from '../command/waiting.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { unlessUnknown } from '../progress/follow.effects.js';
import { applyTemplate, deleteTemplate, planTemplate } from '../template/template.effects.js';
import { templateDiff } from '../template/template.document.js';
import { changeManifest, planChange, type ChangeOptions } from './change.effects.js';
import { addChangeOptions } from './change.options.js';
import { diffLines } from './change.text.js';
import { inTurn, refuseSharedKey, titleOf } from './documents.effects.js';
import { edit } from './editor.effects.js';
import {
  addressOf,
  exported,
  isTemplate,
  parseManifest,
  refuseForeignNamespace,
  templateAddressOf,
  yamlOf,
  type ManifestDocument,
  type SourcedManifest,
} from '../document/manifest.document.js';
import { readManifests, type FileOptions } from '../document/manifest.files.store.js';

export const addManifestCommands = (program: Command, io: Io): void => {
  addApply(program, io);
  addDiff(program, io);
  addExport(program, io);
  addEdit(program, io);
  addDelete(program, io);
};

const fileOptions = (command: Command): Command =>
  command
    .requiredOption(
      '-f, --file <file>',
      'manifest in YAML or JSON, or a folder of them; - reads standard input (repeatable)',
      collected,
    )
    .option('-R, --recursive', 'read the folders in a folder, too');

const addApply = (program: Command, io: Io): void => {
  const command = addCommand(program, {
    usage: 'apply',
    summary: 'Create or change clusters and templates to match their manifests',
    description:
      'Validate a manifest, show the differences and the plan, ask for confirmation, apply it and follow the progress. Applying an unchanged manifest has no effect. A file may hold several documents, separated by "---", and a folder is every *.yaml, *.yml and *.json file in it, by name. Templates are applied before clusters, and otherwise the order is that of the files and of their documents. The first failure ends the command. A dry run creates no template: a cluster whose template is new is not planned.',
    examples: [
      ['fairlead apply -f cluster.yaml', 'Show the plan, confirm it, and wait until it is done'],
      ['fairlead apply -f cluster.yaml --dry-run', 'Show the plan only'],
      ['fairlead apply -f clusters/ -R --yes', 'Apply every manifest below a folder'],
      [
        'fairlead export demo | sed "s/replicas: 2/replicas: 4/" | fairlead apply -f - --yes',
        'Read from standard input',
      ],
    ],
  });
  addChangeOptions(fileOptions(command)).action(
    runs(io, async (session, options: FileOptions & ChangeOptions) => {
      const manifests = await manifestsOf(session, options);
      refuseSharedKey(manifests, options.idempotencyKey);
      return inTurn(io, manifests, async ({ manifest }) => {
        if (isTemplate(manifest))
          return applyTemplate(session, templateAddressOf(manifest, session), manifest, options);
        const change = changeManifest(session, addressOf(manifest, session), manifest, options);
        return options.dryRun === true ? unlessTemplateMissing(change, session, manifest, manifests) : change;
      });
    }),
  );
};

/**
 * A dry run does not create templates, so the effect of a new template on a cluster in the same command cannot be
 * displayed.
 */
const unlessTemplateMissing = async (
  change: Promise<CommandOutput>,
  session: Session,
  manifest: ManifestDocument,
  all: readonly SourcedManifest[],
): Promise<CommandOutput> => {
  try {
    return await change;
  } catch (error) {
    const template = templateAmong(all, manifest, session);
    if (template === undefined || !isUnknownTemplate(error)) throw error;
    const { name } = manifest.metadata;
    return {
      data: { kind: 'Cluster', metadata: { name }, missingTemplate: template },
      table: `cluster/${name} not planned (dry run: its template ${template} does not exist yet)`,
      names: [name],
    };
  }
};

const addDiff = (program: Command, io: Io): void => {
  const command = addCommand(program, {
    usage: 'diff',
    summary: 'Show how a manifest differs from the declared cluster; exits with 1 if it differs',
    description:
      'Compare manifests with what is declared, and change nothing. A cluster whose template does not exist yet can be compared only after the template is applied, also where both are in the same files.',
    examples: [
      ['fairlead diff -f cluster.yaml', 'Show the fields that differ'],
      ['fairlead diff -f clusters/ -R', 'Show them for every manifest below a folder'],
    ],
  });
  fileOptions(command).action(
    runs(io, async (session, options: FileOptions) => {
      const manifests = await manifestsOf(session, options);
      return inTurn(io, manifests, (document) => difference(session, document, manifests), { continues: true });
    }),
  );
};

/** The diff of one document. If there are several, its lines are printed below the name of the object. */
const difference = async (
  session: Session,
  document: SourcedManifest,
  all: readonly SourcedManifest[],
): Promise<CommandOutput> => {
  const { colors, outColumns } = session.io;
  const options = { colors, columns: outColumns() - (all.length > 1 ? INDENT.length : 0) };
  const answer = (data: object, lines: readonly string[]): CommandOutput => {
    const isHeaded = all.length > 1 && lines.length > 0;
    return diffAnswer(document, data, isHeaded ? [`${titleOf(document)}:`, ...lines.map(indented)] : lines);
  };
  const { manifest } = document;
  if (isTemplate(manifest)) {
    const { before, planned } = await planTemplate(session, templateAddressOf(manifest, session), manifest);
    return answer({ spec: specsOf(before, planned) }, templateDiff(before, planned, options));
  }
  try {
    const { before, planned } = await planChange(session, addressOf(manifest, session), manifest);
    return answer(
      { spec: specsOf(before, planned), plan: planned.plan },
      diffLines(before, planned, options, manifest),
    );
  } catch (error) {
    const template = templateAmong(all, manifest, session);
    if (template === undefined || !isUnknownTemplate(error)) throw error;
    const words = `Its template ${template} does not exist yet; apply that to see what differs of the cluster.`;
    return answer({ spec: null, missingTemplate: template }, [colors.yellow(words)]);
  }
};

const isUnknownTemplate = (error: unknown): boolean =>
  error instanceof CliFailure && error.code === 'template.not-found';

/** The name of the cluster's template, if one of the documents declares it. */
const templateAmong = (
  documents: readonly SourcedManifest[],
  cluster: ManifestDocument,
  session: Session,
): string | undefined => {
  const { namespace } = addressOf(cluster, session);
  const { template: named } = (cluster['spec'] ?? {}) as { readonly template?: unknown };
  return documents
    .filter(({ manifest }) => isTemplate(manifest))
    .map(({ manifest }) => templateAddressOf(manifest, session))
    .find((at) => at.namespace === namespace && at.template === named)?.template;
};

const INDENT = '  ';
const indented = (line: string): string => `${INDENT}${line}`;

const specsOf = (before: { readonly spec: object } | undefined, planned: { readonly spec: object }) => ({
  before: before?.spec ?? null,
  after: planned.spec,
});

const diffAnswer = ({ manifest }: SourcedManifest, data: object, lines: readonly string[]): CommandOutput => ({
  data,
  table: lines.join('\n'),
  names: lines.length === 0 ? [] : [manifest.metadata.name],
  ...(lines.length === 0 ? {} : { exit: 'failed' as const }),
});

const addExport = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'export <cluster>',
    summary: 'Print the manifest of a cluster',
    examples: [['fairlead export demo > cluster.yaml', 'Write the manifest to a file, for version control']],
  }).action(
    runs(io, async (session, name: string) => {
      const manifest = exported(
        await session.api.get('/ns/{namespace}/clusters/{cluster}/manifest', clusterAt(session, name)),
      );
      return { data: manifest, table: yamlOf(manifest), names: [name] };
    }),
  );
};

const addEdit = (program: Command, io: Io): void => {
  const command = addCommand(program, {
    usage: 'edit <cluster>',
    summary: 'Edit the manifest of a cluster in an editor, and apply it',
    description: 'Open the manifest in $VISUAL, $EDITOR or vi, and apply the saved file like "fairlead apply".',
    examples: [['fairlead edit demo', 'Edit the manifest; the plan is shown before it is applied']],
  });
  addChangeOptions(command).action(
    runs(io, async (session, name: string, options: ChangeOptions) => editCluster(session, name, options)),
  );
};

const editCluster = async (session: Session, name: string, options: ChangeOptions): Promise<CommandOutput> => {
  const { io, api } = session;
  const current = await api.get('/ns/{namespace}/clusters/{cluster}/manifest', clusterAt(session, name));
  const { metadata, ...others } = exported(current);
  const { resourceVersion } = current.metadata;
  const text = yamlOf({ ...others, metadata: { ...metadata, resourceVersion } });
  const edited = await edit(io, `${name}.yaml`, text);
  if (edited.text === text) {
    await edited.discard();
    return { data: current, table: 'Nothing was edited, and nothing is changed.', names: [name] };
  }
  try {
    const answer = await changeManifest(
      session,
      clusterAt(session, name),
      parseManifest(edited.text, edited.file),
      options,
    );
    await edited.discard();
    return answer;
  } catch (error) {
    io.err(`Your edits are kept in ${edited.file}.\n`);
    throw error;
  }
};

interface DeleteFilesOptions extends FileOptions, DeleteOptions {
  readonly ignoreNotFound?: true;
}

const addDelete = (program: Command, io: Io): void => {
  const command = addCommand(program, {
    usage: 'delete',
    summary: 'Delete the clusters of manifests and everything created for them, and their templates',
    description:
      'Delete what manifests declare, in the reverse order of "fairlead apply". The first failure ends the command.',
    examples: [
      ['fairlead delete -f cluster.yaml --wait', 'Confirm with the name, and wait until everything is deleted'],
      ['fairlead delete -f cluster.yaml --yes', 'Skip the confirmation'],
      [
        'fairlead delete -f clusters/ --ignore-not-found --wait --yes',
        'Delete what is left of the manifests in a folder',
      ],
    ],
  });
  addWaitOptions(addConfirmOption(fileOptions(command)))
    .option('--ignore-not-found', 'continue if a cluster or template does not exist')
    .action(
      runs(io, async (session, options: DeleteFilesOptions) => {
        const manifests = (await manifestsOf(session, options)).toReversed();
        return inTurn(io, manifests, ({ manifest }) => deletion(session, manifest, options));
      }),
    );
};

const deletion = async (
  session: Session,
  manifest: ManifestDocument,
  options: DeleteFilesOptions,
): Promise<CommandOutput> => {
  const deleting = isTemplate(manifest)
    ? deleteTemplate(session, templateAddressOf(manifest, session), options)
    : deleteCluster(session, addressOf(manifest, session), options);
  const deleted = options.ignoreNotFound === true ? await unlessUnknown(deleting) : await deleting;
  return deleted ?? { data: null, table: `${manifest.metadata.name} does not exist.`, names: [] };
};

/**
 * Parses all manifests and checks their namespaces before any change. Templates come first, so that their order does
 * not depend on file names.
 */
const manifestsOf = async (session: Session, options: FileOptions): Promise<readonly SourcedManifest[]> => {
  const sourced = await readManifests(options, session.io);
  for (const one of sourced) refuseForeignNamespace(one, session);
  const isOfTemplate = ({ manifest }: SourcedManifest): boolean => isTemplate(manifest);
  return [...sourced.filter(isOfTemplate), ...sourced.filter((one) => !isOfTemplate(one))];
};
