import { errorCodeOf, manifestJsonSchema, PROVIDER_TRAITS } from '@fairlead/contracts';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Option, type Command } from 'commander';
import { CHECKOUT } from '../checkout.js';
import { addCommand, runs } from '../command/command.js';
import { controlPlaneCount, kubernetesVersion } from '../command/parsers.js';
import type { Session } from '../command/session.js';
import { CliFailure, wordsOf } from '../failures.js';
import type { Io } from '../io/io.js';
import { parseManifests } from '../document/manifest.document.js';
import { verdictsOf } from '../validate/verdicts.js';
import { initManifest } from './init.manifest.js';
import {
  answersFor,
  INIT_NETWORKS,
  INIT_PROVIDERS,
  workerCount,
  type Answered,
  type InitGiven,
} from './init.questions.js';

const SCHEMA_FILE = 'cluster.schema.json';

interface InitOptions extends Omit<InitGiven, 'name'> {
  readonly outputFile?: string;
  readonly force?: true;
  readonly yes?: true;
}

export const addInitCommand = (program: Command, io: Io): void => {
  addCommand(program, {
    usage: 'init [name]',
    summary: 'Print a manifest to start from',
    description:
      'Print a commented manifest of a cluster, which "fairlead validate" and "fairlead apply" accept as it is, or write it to a file with the JSON Schema for editors beside it. On a terminal it asks for what neither the arguments nor the options say; Enter takes the value in brackets, and --yes takes all of them. Without a terminal it does the same without asking. It asks no server: check the names with "fairlead connection list" and "fairlead connection specs".',
    shared: 'namespace',
    examples: [
      ['fairlead init -f demo.yaml', 'Ask, then write demo.yaml and cluster.schema.json beside it'],
      [
        'fairlead init demo --yes | fairlead apply -f - --yes',
        'Create a cluster in the lab with it, without a question',
      ],
      [
        'fairlead init shop --provider ssh --connection site --control-planes 3 --workers 2',
        'Print one for your own hosts',
      ],
      ['fairlead init small --workers 0', 'Print one for a single node'],
    ],
  })
    .addOption(new Option('--provider <name>', 'whose machines it uses (default: lab)').choices(INIT_PROVIDERS))
    .option('--connection <name>', "connection that provides the machines (default: the provider's usual name)")
    .option('--machine-type <name>', "machine size (default: the provider's usual one)")
    .option(
      '--control-planes <count>',
      'number of control planes: 1, 3 or 5 (default: 3, or 1 without workers)',
      controlPlaneCount,
    )
    .option('--workers <count>', 'number of workers; 0: a single node (default: 2)', workerCount)
    .option('--kubernetes-version <version>', "Kubernetes version (default: this release's)", kubernetesVersion)
    .addOption(new Option('--cni <name>', 'pod network (default: flannel)').choices(INIT_NETWORKS))
    .option('-y, --yes', 'ask nothing: take the defaults for what is not given')
    .option('-f, --output-file <file>', 'write it there instead of printing it')
    .option('--force', 'replace the file')
    .action(runs(io, async (session, name: string | undefined, options: InitOptions) => init(session, name, options)));
};

/** Next to the manifest, so that both can be in one repository; without a file, the schema of this program. */
const schemaOf = ({ outputFile }: InitOptions): string =>
  outputFile === undefined ? pathToFileURL(join(CHECKOUT, 'docs', SCHEMA_FILE)).href : `./${SCHEMA_FILE}`;

const textOf = (session: Session, answers: Answered, options: InitOptions): string => {
  const { provider, kubernetesVersion: version, ...others } = answers;
  const { caution } = PROVIDER_TRAITS[provider].example;
  return initManifest({ ...others, version, caution, namespace: session.namespaceOption, schema: schemaOf(options) });
};

const init = async (session: Session, name: string | undefined, options: InitOptions): Promise<void> => {
  const { io } = session;
  const given = { ...options, ...(name === undefined ? {} : { name }) };
  const answers = await answersFor(given, options.yes === true ? { ...io, ask: undefined } : io);
  const text = textOf(session, answers, options);
  refuseInvalid(text, session);
  if (options.outputFile === undefined) return io.out(text);
  const file = resolve(io.cwd, options.outputFile);
  await write(file, text, options.force === true);
  const schema = join(dirname(file), SCHEMA_FILE);
  const hasSchema = existsSync(schema);
  if (!hasSchema) await write(schema, `${JSON.stringify(manifestJsonSchema(), undefined, 2)}\n`, false);
  io.err(
    `Wrote ${options.outputFile}${hasSchema ? '' : ` and ${SCHEMA_FILE} beside it`}. Check it with "fairlead validate -f ${options.outputFile}"; create the cluster with "fairlead apply -f ${options.outputFile}".\n`,
  );
};

/** A manifest that the server would refuse is not written. */
const refuseInvalid = (text: string, { io, namespace }: Session): void => {
  const [verdict] = verdictsOf(parseManifests(text, 'The manifest'), {
    namespace,
    now: new Date(io.now()).toISOString(),
  });
  const [first, ...further] = verdict?.faults ?? [];
  if (first !== undefined) throw new CliFailure('usage', { ...first, further });
};

const write = async (file: string, text: string, replaces: boolean): Promise<void> => {
  try {
    await writeFile(file, text, { flag: replaces ? 'w' : 'wx' });
  } catch (error) {
    if (errorCodeOf(error) === 'EEXIST')
      throw new CliFailure('conflict', {
        code: 'cli.file-exists',
        message: `${file} exists already`,
        help: 'Choose another file, or replace it with --force.',
      });
    throw new CliFailure('failed', {
      code: 'cli.file-unwritable',
      message: `${file} cannot be written: ${wordsOf(error)}`,
    });
  }
};
