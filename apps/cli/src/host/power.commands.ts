import { POWER_ACTIONS, type PowerAction } from '@fairlead/contracts';
import { Argument, Option, type Command } from 'commander';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ConnectionView } from '../api/views.js';
import { addCommand, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { duration } from '../command/parsers.js';
import type { Session } from '../command/session.js';
import { addWaitsByDefault } from '../command/waiting.js';
import { CliFailure, usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import { formatDuration } from '../output/duration.js';

const POLL_MS = 500;
/** A controller has two attempts of two minutes at most. */
const TIMEOUT_MS = 300_000;

type Host = NonNullable<ConnectionView['hosts']>[number];

interface PowerOptions extends ConfirmOptions {
  readonly connection?: string;
  readonly wait: boolean;
  readonly timeout: number;
}

interface Found {
  readonly connection: string;
  readonly host: Host;
}

export const addPower = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'power <host>',
    shared: 'installation',
    summary: 'Switch the power of a host of an inventory, or show it',
    description:
      'Switch the power of a host of an "ssh" connection through its management controller (Redfish or IPMI), or show it. "off" and "cycle" take effect at once, without a shutdown.',
    examples: [
      ['fairlead host power rack-1 status', 'Show whether the power of a host is on'],
      ['fairlead host power rack-1 cycle --yes', 'Switch a host off and on without a confirmation'],
      ['fairlead host power rack-1 on --connection site', 'Name the connection of the host'],
    ],
  })
    .addArgument(new Argument('<action>', 'what is done').choices(POWER_ACTIONS))
    .option('--connection <name>', 'connection of the host; only needed if several have a host of this name');
  addWaitsByDefault(command, 'the management controller has answered').addOption(
    new Option('--timeout <duration>', 'how long to wait, e.g. 2m').argParser(duration).default(TIMEOUT_MS, '5m'),
  );
  addConfirmOption(command).action(
    runs(io, async (session, name: string, action: PowerAction, options: PowerOptions) => {
      const { connection, host } = await findHost(session, name, options.connection);
      if (action === 'off' || action === 'cycle') await confirm(io, { what: consequence(host, action) }, options);
      const path = { connection, host: name };
      const { seq } = await session.api.post('/connections/{connection}/hosts/{host}/power', path, {
        body: { action },
      });
      if (!options.wait) {
        const table = `Power ${action} of host ${name} was requested; see the answer with "fairlead connection describe ${connection}".`;
        return { data: { ...path, action }, table, names: [name] };
      }
      const { power } = await untilAnswered(session, path, { seq, timeoutMs: options.timeout });
      return { data: { ...path, action, power }, table: `The power of host ${name} is ${power}.`, names: [name] };
    }),
  );
};

const consequence = ({ name, state, cluster, machine }: Host, action: 'off' | 'cycle'): string => {
  const switched = `Host ${name} will be switched off${action === 'cycle' ? ' and on' : ''} at once, without a shutdown`;
  return state === 'in-use' ? `${switched}; it is ${machine} of ${cluster}` : switched;
};

const findHost = async ({ api }: Session, name: string, named: string | undefined): Promise<Found> => {
  const connections =
    named === undefined
      ? await api.list('/connections')
      : [await api.get('/connections/{connection}', { connection: named })];
  const found = connections.flatMap(({ name: connection, hosts = [] }) =>
    hosts.filter((host) => host.name === name).map((host) => ({ connection, host })),
  );
  const [only, ...others] = found;
  if (only === undefined)
    throw usageFailure(`No connection has a host ${name}. List hosts with "fairlead connection hosts <connection>".`);
  if (others.length === 0) return only;
  const names = found.map(({ connection }) => connection).join(', ');
  throw usageFailure(`Several connections have a host ${name}: ${names}. Name one with --connection.`);
};

const untilAnswered = async (
  { api, io }: Session,
  { connection, host }: { readonly connection: string; readonly host: string },
  { seq, timeoutMs }: { readonly seq: number; readonly timeoutMs: number },
): Promise<{ readonly power: string }> => {
  const startedAtMs = performance.now();
  for (;;) {
    const { hosts = [] } = await api.get('/connections/{connection}', { connection });
    const last = hosts.find(({ name }) => name === host)?.power?.last ?? null;
    if (last !== null && last.request >= seq) {
      if (last.power !== null) return { power: last.power };
      throw new CliFailure('failed', {
        code: 'cli.host-power-failed',
        message: last.problem,
        help: `Correct power in the settings of connection ${connection}, or try again.`,
      });
    }
    if (performance.now() - startedAtMs >= timeoutMs) throw tooLong(host, connection, timeoutMs);
    await sleep(POLL_MS, undefined, { signal: io.interrupts.first });
  }
};

const tooLong = (host: string, connection: string, timeoutMs: number): CliFailure =>
  new CliFailure('timed-out', {
    code: 'cli.timed-out',
    message: `The management controller of ${host} has not answered within ${formatDuration(timeoutMs)}`,
    help: `Look again with "fairlead connection describe ${connection}".`,
  });
