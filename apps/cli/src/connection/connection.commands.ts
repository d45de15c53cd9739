import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import type { ConnectionView } from '../api/api.ports.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { usageFailure, wordsOf } from '../failures.js';
import type { Io } from '../io/io.js';
import type { Answer } from '../output/format.js';

export const addConnectionCommands = (program: Command, io: Io): void => {
  const connection = addGroup(program, 'connection', 'Where machines come from').alias('connections');
  addList(connection, io);
  addGet(connection, io);
  addSet(connection, io);
  addDelete(connection, io);
};

const stateOf = ({ verified, problem }: ConnectionView): string => {
  if (problem !== '') return problem;
  if (verified === null) return 'not reached yet';
  return `reached${verified.simulated ? ', a simulation' : ''}`;
};

const connectionsAnswer = (items: readonly ConnectionView[]): Answer => ({
  data: items,
  table: {
    columns: ['name', 'provider', 'region', 'zone', 'specs', 'status'],
    rows: items.map((item) => [
      item.name,
      item.provider,
      item.region,
      item.zone,
      String(item.verified?.specs ?? ''),
      stateOf(item),
    ]),
    empty: 'There are no connections.',
  },
  names: items.map(({ name }) => name),
});

const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list',
    summary: 'List the connections',
    examples: [['fairlead connection list', 'With what is known of their providers']],
  })
    .alias('ls')
    .action(runs(io, async (session) => connectionsAnswer(await session.api.connections())));
};

const addGet = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'get <connection>',
    summary: 'Show one connection, without its secret',
    examples: [['fairlead connection get lab --output yaml', 'All of it']],
  }).action(
    runs(io, async (session, name: string) => {
      const item = await session.api.connection(name);
      return { ...connectionsAnswer([item]), data: item };
    }),
  );
};

interface SetOptions {
  readonly provider: string;
  readonly region?: string;
  readonly zone?: string;
  readonly setting?: readonly (readonly [string, string])[];
  readonly secretFile?: string;
}

/** `endpoint=http://…`, several times. */
export const collectSetting = (
  text: string,
  before: readonly (readonly [string, string])[] | undefined,
): readonly (readonly [string, string])[] => {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Give <name>=<value>.');
  return [...(before ?? []), [text.slice(0, at), text.slice(at + 1)]];
};

const addSet = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'set <connection>',
    summary: 'Register a connection, or replace its settings',
    description:
      'Register a connection, or replace its settings. Its secret is sealed by the server and never shown again; left out, the one that there is stays.',
    examples: [
      [
        'fairlead connection set lab2 --provider lab --region lab-1 --setting endpoint=http://127.0.0.1:9999 --secret-file lab.token',
        'Another lab (a simulation)',
      ],
    ],
  })
    .requiredOption('--provider <name>', 'lab, ssh, nspawn ...')
    .option('--region <name>', 'region of the provider')
    .option('--zone <name>', 'zone of the region')
    .option('--setting <name=value>', "one of the provider's own settings; may be given several times", collectSetting)
    .option('--secret-file <file>', 'file with the token or key; - reads standard input')
    .action(
      runs(io, async (session, name: string, { provider, region, zone, setting = [], secretFile }: SetOptions) => {
        const secret = secretFile === undefined ? undefined : await readSecret(secretFile, io);
        const item = await session.api.putConnection(name, {
          provider,
          ...(region === undefined ? {} : { region }),
          ...(zone === undefined ? {} : { zone }),
          settings: { ...Object.fromEntries(setting), ...(secret === undefined ? {} : { token: secret }) },
        });
        return { ...connectionsAnswer([item]), data: item };
      }),
    );
};

const readSecret = async (file: string, io: Io): Promise<string> => {
  if (file === '-') return (await io.readStdin()).trim();
  try {
    return (await readFile(resolve(io.cwd, file), 'utf8')).trim();
  } catch (error) {
    throw usageFailure(`The secret cannot be read: ${wordsOf(error)}`);
  }
};

const addDelete = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'delete <connection>',
    summary: 'Remove a connection that no cluster uses',
    examples: [['fairlead connection delete lab2', 'It is refused while a cluster uses it']],
  }).action(
    runs(io, async (session, name: string) => {
      await session.api.deleteConnection(name);
      return { data: { name, deleted: true }, table: `The connection ${name} is removed.`, names: [name] };
    }),
  );
};
