import { HOST_CHECKS, PROVIDERS, traitsOf, type HostCheck, type HostChecks } from '@fairlead/contracts';
import { parseYaml } from '@fairlead/parsers';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { InvalidArgumentError, Option, type Command } from 'commander';
import type { ConnectionView } from '../api/views.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { duration } from '../command/parsers.js';
import { addWaitOptions, checkWaitOptions, type WaitOptions } from '../command/waiting.js';
import { usageFailure, wordsOf } from '../failures.js';
import { FILE_LIMITS } from '../io/file.limits.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import { optional, prose } from '../output/table.js';
import { unlessUnknown } from '../progress/follow.effects.js';
import { addOrphans } from './orphans.commands.js';
import { addGrant, addQuota } from './grant.commands.js';
import { addAcceptHost, addAcceptHostKey, addDescribe } from './trust.commands.js';
import { untilVerified } from './verification.effects.js';

export const addConnectionCommands = (program: Command, io: Io): void => {
  const connection = addGroup(program, 'connection', 'Manage connections to providers of machines').alias(
    'connections',
  );
  addList(connection, io);
  addGet(connection, io);
  addHosts(connection, io);
  addSpecs(connection, io);
  addSet(connection, io);
  addGetSecret(connection, io);
  addVerify(connection, io);
  addDescribe(connection, io);
  addAcceptHostKey(connection, io);
  addAcceptHost(connection, io);
  addGrant(connection, io);
  addQuota(connection, io);
  addOrphans(connection, io);
  addDelete(connection, io);
};

interface GetSecretOptions {
  readonly key?: string;
}

const addGetSecret = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'get-secret <connection>',
    shared: 'installation',
    summary: 'Print what a connection signs in with',
    description:
      'Print the credential of a connection, for a place that lost it. It needs the role admin in all namespaces, and the history records who read it.',
    examples: [
      ['fairlead connection get-secret site > site.secret', 'Write the credential to a file'],
      ['fairlead connection get-secret rack --key rack-1', 'Print a key that single hosts of the inventory have'],
    ],
  })
    .option('--key <name>', 'a key of single hosts of the inventory instead')
    .action(
      runs(io, async (session, name: string, { key }: GetSecretOptions) => {
        const { secret, keys } = await session.api.get('/connections/{connection}/credential', { connection: name });
        const shown = key === undefined ? secret : keys[key];
        if (shown === undefined)
          throw usageFailure(
            `There is no such secret. The connection has these keys: ${Object.keys(keys).join(', ')}.`,
          );
        return { data: { name, secret, keys }, table: shown, names: [name] };
      }),
    );
};

const stateOf = ({ provider, verified, problem }: ConnectionView): string => {
  if (problem !== '') return problem;
  if (verified === null) return 'not reached yet';
  const { sharedBoundary } = traitsOf(provider);
  const shared = sharedBoundary === undefined ? '' : `, no security boundary: ${sharedBoundary}`;
  return `reached${verified.simulated ? ', a simulation' : ''}${shared}`;
};

const connectionsAnswer = (items: readonly ConnectionView[]): CommandOutput => ({
  data: items,
  table: {
    columns: [
      'name',
      'provider',
      optional('region', 2),
      optional('zone', 3),
      optional('machine types', 1),
      prose('message'),
    ],
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
    shared: 'installation',
    summary: 'List the connections',
    examples: [['fairlead connection list', 'List the connections with their state']],
  })
    .alias('ls')
    .action(runs(io, async (session) => connectionsAnswer(await session.api.list('/connections'))));
};

const addGet = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'get <connection>',
    shared: 'installation',
    summary: 'Show one connection, without its secret',
    examples: [['fairlead connection get lab --output yaml', 'Print all fields']],
  }).action(
    runs(io, async (session, name: string) => {
      const item = await session.api.get('/connections/{connection}', { connection: name });
      return { ...connectionsAnswer([item]), data: item };
    }),
  );
};

/** Names of checks as people say them. */
const CHECK_NAMES = {
  ...{ ssh: 'SSH', hostKey: 'host key', root: 'root', system: 'system', address: 'address' },
  ...{ clean: 'clean', clock: 'clock', disk: 'disk' },
} as const satisfies Record<HostCheck, string>;

/** Earlier releases do not return the checks. */
const failedChecks = (checks: HostChecks | undefined): string =>
  HOST_CHECKS.filter((check) => (checks?.[check] ?? '') !== '')
    .map((check) => CHECK_NAMES[check])
    .join(', ');

const addHosts = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'hosts <connection>',
    shared: 'installation',
    summary: 'List the hosts of an inventory and the clusters that use them',
    examples: [['fairlead connection hosts site', 'List the hosts with their state']],
  }).action(
    runs(io, async (session, name: string) => {
      const { hosts = [] } = await session.api.get('/connections/{connection}', { connection: name });
      return {
        data: hosts,
        table: {
          columns: [
            ...['name', 'address', optional('zone', 3), optional('machine type', 2), 'state'],
            ...['cluster', optional('machine', 1), 'failed checks', prose('message')],
          ],
          rows: hosts.map((host) => [
            host.name,
            host.address,
            host.zone,
            host.spec,
            host.state,
            host.cluster,
            host.machine,
            failedChecks(host.checks),
            [host.problem, host.warning ? `warning: ${host.warning}` : ''].filter(Boolean).join('; '),
          ]),
          empty: `The connection ${name} has no inventory of hosts, or none that your token can read: that requires the role admin in all namespaces.`,
        },
        names: hosts.map((host) => host.name),
      };
    }),
  );
};

const addSpecs = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'specs <connection>',
    shared: 'installation',
    summary: 'List the machine sizes that a connection offers',
    examples: [['fairlead connection specs lab', 'List the names for --machine-type']],
  }).action(
    runs(io, async (session, name: string) => {
      const specs = await session.api.list('/mcir/connections/{connection}/specs', { connection: name });
      return {
        data: specs,
        table: {
          columns: ['name', 'cpus', 'memory (GiB)', 'clock (GHz)'],
          rows: specs.map(({ name: spec, cpu, memory }) => [spec, cpu.count, memory, cpu.clock]),
          empty: `The connection ${name} offers no machines.`,
        },
        names: specs.map((spec) => spec.name),
      };
    }),
  );
};

const addVerify = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'verify <connection>',
    shared: 'installation',
    summary: 'Verify a connection and refresh what it offers',
    description:
      'Ask the provider of a connection again whether it can be reached, and what it offers. Hosts of an inventory that could not be reset after their last use are reset now, and become free.',
    examples: [
      ['fairlead connection verify site --wait', 'Verify a connection after a host was repaired, and show the result'],
    ],
  });
  addWaitOptions(command).action(
    runs(io, async (session, name: string, options: WaitOptions) => {
      checkWaitOptions(options);
      const { api } = session;
      const before =
        options.wait === true ? await api.get('/connections/{connection}', { connection: name }) : undefined;
      await api.post('/connections/{connection}/verify', { connection: name });
      if (options.wait === true) {
        io.err(`Verifying the connection ${name} ...\n`);
        const awaited = { before, connection: name, maySettle: false, timeoutMs: options.timeout };
        const item = await untilVerified(session, awaited);
        return { ...connectionsAnswer([item]), data: item };
      }
      return {
        data: { name, verifying: true },
        table: `The connection ${name} is being verified; see the result with "fairlead connection get ${name}".`,
        names: [name],
      };
    }),
  );
};

interface SetOptions {
  readonly provider: string;
  readonly region?: string;
  readonly zone?: string;
  readonly setting?: readonly (readonly [string, string])[];
  readonly settingsFile?: string;
  readonly secretFile?: string;
  readonly moved?: boolean;
  readonly wait: boolean;
  readonly timeout: number;
}

/** `endpoint=http://…`, repeatable. */
const collectSetting = (
  text: string,
  before: readonly (readonly [string, string])[] | undefined,
): readonly (readonly [string, string])[] => {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('Give <name>=<value>.');
  return [...(before ?? []), [text.slice(0, at), text.slice(at + 1)]];
};

const addSet = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'register <connection>',
    shared: 'installation',
    summary: 'Register a connection or replace its settings',
    description:
      'Register a connection, or replace its settings, and wait until it is verified. The secret is sealed by the server, and only administrators of all namespaces can read it back; without --secret-file, the existing secret is kept.',
    examples: [
      [
        'fairlead connection register lab2 --provider lab --region lab-1 --setting endpoint=http://127.0.0.1:9999 --secret-file lab.token',
        'Register another lab (a simulation)',
      ],
      [
        'fairlead connection register site --provider ssh --settings-file site.yaml --secret-file ~/.ssh/id_ed25519',
        'Register your own hosts, with an inventory in YAML (docs/providers.md) and an SSH key',
      ],
    ],
  })
    .requiredOption('--provider <name>', `provider: ${PROVIDERS.join(', ')}`)
    .option('--region <name>', 'region of the provider')
    .option('--zone <name>', 'zone of the region')
    .option('--setting <name=value>', 'setting of the provider (repeatable)', collectSetting)
    .option('--settings-file <file>', 'file with settings in YAML or JSON; --setting overrides single ones')
    .option('--secret-file <file>', 'file with the token or key; - reads standard input')
    .option('--moved', 'confirm that the new endpoint manages the same machines, while clusters use the connection')
    .option('--wait', 'wait until it is verified (default)', true)
    .option('--no-wait', 'exit when the request is accepted')
    .addOption(
      new Option('--timeout <duration>', 'how long to wait, e.g. 2m').argParser(duration).default(60_000, '60s'),
    )
    .action(
      runs(io, async (session, name: string, options: SetOptions) => {
        const { provider, region, zone, setting = [], settingsFile, secretFile, moved } = options;
        const settings = settingsFile === undefined ? {} : await readSettings(settingsFile, io);
        const secret = secretFile === undefined ? undefined : await readSecret(secretFile, io);
        const before = options.wait
          ? await unlessUnknown(session.api.get('/connections/{connection}', { connection: name }))
          : undefined;
        const { data: registered } = await session.api.put(
          '/connections/{connection}',
          { connection: name },
          {
            body: {
              provider,
              region,
              zone,
              moved,
              settings: {
                ...settings,
                ...Object.fromEntries(setting),
                ...(secret === undefined ? {} : { token: secret }),
              },
            },
          },
        );
        const item = options.wait
          ? await untilVerified(session, { before, connection: name, maySettle: true, timeoutMs: options.timeout })
          : registered;
        return { ...connectionsAnswer([item]), data: item };
      }),
    );
};

export const parseSettings = (text: string): unknown => parseYaml(text, FILE_LIMITS);

const readSettings = async (file: string, io: Io): Promise<Record<string, unknown>> => {
  try {
    const settings = parseSettings(await readFile(resolve(io.cwd, file), 'utf8'));
    if (typeof settings === 'object' && settings !== null && !Array.isArray(settings))
      return settings as Record<string, unknown>;
  } catch (error) {
    throw usageFailure(`The settings cannot be read: ${wordsOf(error)}`);
  }
  throw usageFailure(`The settings cannot be read: ${file} holds no settings by name`);
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
  const command = addCommand(parent, {
    usage: 'delete <connection>',
    shared: 'installation',
    summary: 'Delete a connection that no cluster uses',
    examples: [['fairlead connection delete lab2', 'Delete a connection that no cluster uses']],
  });
  addConfirmOption(command).action(
    runs(io, async (session, name: string, options: ConfirmOptions) => {
      await confirm(io, { what: `The connection ${name} will be deleted with its sealed secret` }, options);
      await session.api.delete('/connections/{connection}', { connection: name });
      return { data: { name, deleted: true }, table: `The connection ${name} is deleted.`, names: [name] };
    }),
  );
};
