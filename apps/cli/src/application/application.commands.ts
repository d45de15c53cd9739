import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { APPLICATION_VERSIONS_MAX, KNOWN_APPLICATIONS } from '@fairlead/contracts';
import { Option, type Command } from 'commander';
import type { ApplicationSettings, ApplicationView } from '../api/views.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { duration, integerBetween } from '../command/parsers.js';
import { usageFailure, wordsOf } from '../failures.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { optional, prose } from '../output/table.js';
import { addInstall } from './install.commands.js';
import { untilSynchronized } from './sync.effects.js';

export const addApplicationCommands = (program: Command, io: Io): void => {
  const application = addGroup(
    program,
    'application',
    'Manage the catalogue of applications: versions of Helm charts, with the schemas of their values',
  ).alias('applications');
  addList(application, io);
  addShow(application, io);
  addRegister(application, io);
  addInstall(application, io);
  addSync(application, io);
  addDelete(application, io);
};

const STATES: Readonly<Record<ApplicationView['state'], string>> = {
  Unknown: 'not synchronized yet',
  Synchronized: 'synchronized',
  NotSynchronized: 'not synchronized',
};

const stateOf = ({ state, reason }: ApplicationView): string =>
  reason === '' ? STATES[state] : `${STATES[state]} (${reason})`;

const answerOf = (items: readonly ApplicationView[]): CommandOutput => ({
  data: items,
  table: {
    columns: ['name', 'chart', optional('range', 2), 'newest', optional('versions', 1), prose('message')],
    rows: items.map((item) => [
      item.name,
      item.chart,
      item.range,
      item.versions[0]?.version ?? '-',
      String(item.versions.length),
      stateOf(item),
    ]),
    empty: 'The catalogue has no applications.',
  },
  names: items.map(({ name }) => name),
});

const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list',
    shared: 'installation',
    summary: 'List the applications of the catalogue',
    examples: [['fairlead application list', 'List all applications with their newest versions']],
  })
    .alias('ls')
    .action(runs(io, async (session) => answerOf(await session.api.list('/applications'))));
};

const describeText = (item: ApplicationView): string => {
  const { name, label, description, repository, chart, range, keep, message, versions, registeredTime } = item;
  return [
    `Application ${name}${label === '' ? '' : ` (${label})`}`,
    ...(description === '' ? [] : [`  ${description}`]),
    `  chart: ${chart} of ${repository}`,
    `  versions: ${range}, at most ${keep}`,
    `  registered: ${registeredTime}`,
    `  status: ${stateOf(item)}`,
    ...(message === '' ? [] : [`  problem: ${message}`]),
    ...(versions.length === 0 ? ['  no versions'] : ['Versions', ...versions.map(versionText)]),
  ].join('\n');
};

const versionText = ({ version, appVersion, digest }: ApplicationView['versions'][number]): string =>
  `  ${version}${appVersion === '' ? '' : ` (${appVersion})`}  sha256 ${digest}`;

interface ShowOptions {
  readonly chartVersion?: string;
}

const addShow = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'get <application>',
    shared: 'installation',
    summary: 'Show an application with its versions, or the schema of one',
    examples: [
      ['fairlead application get grafana', 'Show its versions, or why it is not synchronized'],
      ['fairlead application get grafana --chart-version 8.5.1', 'Print the JSON Schema of the values of a version'],
    ],
  })
    .option('--chart-version <version>', 'the version whose schema is shown')
    .action(
      runs(io, async (session, name: string, { chartVersion }: ShowOptions) => {
        if (chartVersion === undefined) {
          const item = await session.api.get('/applications/{application}', { application: name });
          return { data: item, table: describeText(item), names: [item.name] };
        }
        const item = await session.api.get('/applications/{application}/versions/{version}', {
          application: name,
          version: chartVersion,
        });
        const none = `Version ${chartVersion} of ${name} has no schema of its values.`;
        const text = item.schema === null ? none : JSON.stringify(item.schema, null, 2);
        const ui =
          item.uiSchema === null
            ? ''
            : `
How forms show them:
${JSON.stringify(item.uiSchema, null, 2)}`;
        return { data: item, table: `${text}${ui}`, names: [item.version] };
      }),
    );
};

interface RegisterOptions {
  readonly repository?: string;
  readonly chart?: string;
  readonly versions?: string;
  readonly keep: number;
  readonly label?: string;
  readonly description?: string;
  readonly icon?: string;
  readonly repositoryCaFile?: string;
  readonly username?: string;
  readonly passwordFile?: string;
  readonly wait: boolean;
  readonly timeout: number;
}

const addRegister = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'register <application>',
    shared: 'installation',
    summary: 'Register an application or replace its settings',
    description:
      'Register versions of a Helm chart in the catalogue, or replace the settings of an application, and wait until it is synchronized. Registering changes no cluster; "fairlead application install" does.',
    examples: [
      ['fairlead application register metrics-server', 'Register an application that Fairlead knows by its name'],
      [
        'fairlead application register grafana --repository https://charts.example.org --chart grafana --versions ">=8.0.0 <9.0.0" --keep 5',
        'List the five newest versions of a range',
      ],
    ],
  })
    .option('--repository <url>', 'the chart repository, an https URL, or the oci URL of a registry')
    .option('--chart <name>', 'the chart in it')
    .option('--versions <range>', 'which versions, a range of semantic versions')
    .addOption(
      new Option('--keep <number>', `how many versions, the newest first, at most ${APPLICATION_VERSIONS_MAX}`)
        .argParser(integerBetween(1, APPLICATION_VERSIONS_MAX))
        .default(5),
    )
    .option('--label <text>', 'what people call it')
    .option('--description <text>', 'what it is for')
    .option('--icon <url>', 'URL of a picture')
    .option('--repository-ca-file <file>', "file with the authorities of the repository's certificate, PEM")
    .option('--username <name>', 'of a private repository')
    .option('--password-file <file>', 'file with the password of that user; - reads standard input')
    .option('--wait', 'wait until it is synchronized (default)', true)
    .option('--no-wait', 'exit when the request is accepted')
    .addOption(
      new Option('--timeout <duration>', 'how long to wait, e.g. 2m').argParser(duration).default(120_000, '120s'),
    )
    .action(
      runs(io, async (session, name: string, options: RegisterOptions) => {
        const { wait, timeout } = options;
        const { data: registered } = await session.api.put(
          '/applications/{application}',
          { application: name },
          { body: await settingsOf(name, options, io) },
        );
        const awaited = { registered, timeoutMs: timeout, interrupted: io.interrupts.first };
        const item = wait ? await untilSynchronized(session.api, awaited) : registered;
        return { ...answerOf([item]), data: item };
      }),
    );
};

/** Selected by name: the shared options are not settings. */
const settingsOf = async (name: string, options: RegisterOptions, io: Io): Promise<ApplicationSettings> => {
  const known = KNOWN_APPLICATIONS[name];
  const { repository = known?.repository, chart = known?.chart, versions: range = known?.range } = options;
  if (repository === undefined || chart === undefined || range === undefined)
    throw usageFailure(
      `Fairlead does not know where the chart of ${name} is`,
      `Name it with --repository, --chart and --versions; known by name: ${Object.keys(KNOWN_APPLICATIONS).join(', ')}.`,
    );
  const { label = known?.label, description = known?.description, keep, icon, repositoryCaFile, username } = options;
  const { passwordFile } = options;
  if ((username === undefined) !== (passwordFile === undefined))
    throw usageFailure('--username and --password-file are given together');
  return {
    ...{ repository, chart, range, keep },
    ...(label === undefined ? {} : { label }),
    ...(description === undefined ? {} : { description }),
    ...(icon === undefined ? {} : { icon }),
    ...(repositoryCaFile === undefined ? {} : { ca: await readText('--repository-ca-file', repositoryCaFile, io) }),
    ...(username === undefined ? {} : { username }),
    ...(passwordFile === undefined ? {} : { password: (await readText('--password-file', passwordFile, io)).trim() }),
  };
};

const readText = async (option: string, file: string, io: Io): Promise<string> => {
  if (file === '-' && option === '--password-file') return io.readStdin();
  try {
    return await readFile(resolve(io.cwd, file), 'utf8');
  } catch (error) {
    throw usageFailure(`${option} cannot be read: ${wordsOf(error)}`);
  }
};

const addSync = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'sync <application>',
    shared: 'installation',
    summary: 'Read the repository of an application now',
    examples: [['fairlead application sync grafana', 'Look for new versions now instead of within the hour']],
  }).action(
    runs(io, async (session, name: string) => {
      await session.api.post('/applications/{application}/sync', { application: name });
      return { data: { name, requested: true }, table: `The application ${name} will be synchronized.`, names: [name] };
    }),
  );
};

const addDelete = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'delete <application>',
    shared: 'installation',
    summary: 'Delete an application from the catalogue',
    description: 'Delete an application from the catalogue. What runs in clusters is not changed.',
    examples: [['fairlead application delete grafana', 'Delete an application']],
  });
  addConfirmOption(command).action(
    runs(io, async (session, name: string, options: ConfirmOptions) => {
      await confirm(io, { what: `The application ${name} will be deleted from the catalogue` }, options);
      await session.api.delete('/applications/{application}', { application: name });
      return { data: { name, deleted: true }, table: `The application ${name} is deleted.`, names: [name] };
    }),
  );
};
