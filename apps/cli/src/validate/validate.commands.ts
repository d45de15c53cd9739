import { manifestJsonSchema, templateJsonSchema } from '@fairlead/contracts';
import { Argument, type Command } from 'commander';
import { addCommand, runs } from '../command/command.js';
import { collected } from '../command/parsers.js';
import type { Session } from '../command/session.js';
import { refuseForeignNamespace } from '../document/manifest.document.js';
import { readManifests, type FileOptions } from '../document/manifest.files.store.js';
import { failureText } from '../failure.text.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { verdictsOf, type Verdict } from './verdicts.js';

export const addValidateCommands = (program: Command, io: Io): void => {
  addValidate(program, io);
  addSchema(program, io);
};

const addValidate = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'validate',
    summary: 'Check manifests without a server; exits with 7 if one is invalid',
    description:
      'Check manifests of clusters and templates by their schema and by every rule that needs no server, in the words of the server, each with the file and line. Clusters are judged as new ones. What only a server knows is left to "fairlead apply --dry-run": connections, machine sizes, quotas, virtual addresses, hook secrets, and what an existing cluster allows. A cluster of a template is resolved with it if the template is among the files.',
    shared: 'output-namespace',
    examples: [
      ['fairlead validate -f cluster.yaml', 'Check a manifest'],
      ['fairlead validate -f clusters/ -R --output json', 'Check every manifest below a folder, for a program'],
      ['fairlead init demo --yes | fairlead validate -f -', 'Read from standard input'],
    ],
  })
    .requiredOption(
      '-f, --file <file>',
      'manifest in YAML or JSON, or a folder of them; - reads standard input (repeatable)',
      collected,
    )
    .option('-R, --recursive', 'read the folders in a folder, too')
    .action(runs(io, async (session, options: FileOptions) => validate(session, options)));
};

const placeOf = ({ file, line }: Verdict['faults'][number]): string => `${file}:${line}`;

/** Faults are the answer: they are on standard output only as data; for a person they look as every other failure does. */
const validate = async (session: Session, options: FileOptions): Promise<CommandOutput> => {
  const { io } = session;
  const sourced = await readManifests(options, io);
  for (const one of sourced) refuseForeignNamespace(one, session);
  const verdicts = verdictsOf(sourced, { namespace: session.namespace, now: new Date(io.now()).toISOString() });
  const invalid = verdicts.filter(({ faults }) => faults.length > 0);
  if (session.format === 'table') {
    for (const { faults } of invalid)
      for (const fault of faults)
        io.err(`${placeOf(fault)}: ${failureText(new CliFailure('refused', fault), io.colors)}`);
  }
  return {
    data: { kind: 'ManifestValidation', valid: invalid.length === 0, items: verdicts },
    table: verdicts.map(lineOf).join('\n'),
    names: verdicts.filter(({ faults }) => faults.length === 0).map(({ name }) => name),
    ...(invalid.length === 0 ? {} : { exit: 'refused' }),
  };
};

const lineOf = ({ kind, name, faults, missingTemplate }: Verdict): string => {
  const title = `${kind.toLowerCase()}/${name}`;
  if (faults.length > 0) return `${title} invalid (${faults.length} ${faults.length === 1 ? 'fault' : 'faults'})`;
  return missingTemplate === undefined
    ? `${title} valid`
    : `${title} valid as far as it can be checked: its template ${missingTemplate} is not among the files`;
};

const SCHEMAS = { cluster: manifestJsonSchema, 'cluster-template': templateJsonSchema };

const addSchema = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'schema',
    summary: 'Print the JSON Schema of a manifest, for editors',
    shared: 'none',
    examples: [
      ['fairlead schema > cluster.schema.json', 'Write the schema that the first line of "fairlead init" names'],
      ['fairlead schema cluster-template > cluster-template.schema.json', 'The schema of a cluster template'],
    ],
  })
    .addArgument(new Argument('[kind]', 'of what').choices(Object.keys(SCHEMAS)).default('cluster'))
    .action(
      runs(io, async (_session, kind: keyof typeof SCHEMAS) =>
        io.out(`${JSON.stringify(SCHEMAS[kind](), undefined, 2)}\n`),
      ),
    );
};
