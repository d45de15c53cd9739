import type { Quota } from '@fairlead/contracts';
import type { Command } from 'commander';
import type { ConnectionSettings, ConnectionView } from '../api/api.ports.js';
import { addCommand, runs } from '../command/command.js';
import { integerBetween } from '../command/parsers.js';
import { CliFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { Session } from '../command/session.js';

const LIMIT_MAX = 1_000_000;

/** `--clusters --nodes --cores` */
export const withQuota = (command: Command): Command => {
  const limit = integerBetween(0, LIMIT_MAX);
  return command
    .option('--clusters <count>', 'maximum number of clusters (default: no limit)', limit)
    .option('--nodes <count>', 'maximum number of machines (default: no limit)', limit)
    .option('--cores <count>', 'maximum number of CPUs of these machines (default: no limit)', limit);
};

/** What was said of the limits, without what else a command was given. */
export const limitsOf = ({ clusters, nodes, cores }: Quota): Quota => ({
  ...(clusters === undefined ? {} : { clusters }),
  ...(nodes === undefined ? {} : { nodes }),
  ...(cores === undefined ? {} : { cores }),
});

export const quotaText = (quota: Quota | undefined): string =>
  Object.entries(quota ?? {})
    .map(([what, limit]) => `${what} ${limit}`)
    .join(', ');

/** Replaces one part of a connection; the rest, its secret included, stays as it is. */
const change = async (
  session: Session,
  name: string,
  part: Pick<ConnectionSettings, 'namespaces' | 'quota'>,
): Promise<ConnectionView> => {
  const { provider, region, zone, settings } = await session.api.connection(name);
  if (settings === undefined)
    throw new CliFailure('refused', {
      code: 'cli.connection-settings-hidden',
      message: `The settings of connection ${name} are not yours to see`,
      help: 'An administrator of all namespaces may change it.',
    });
  return session.api.putConnection(name, { provider, region, zone, settings, ...part });
};

export const addGrant = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'grant <connection> <namespaces...>',
    summary: 'Set which namespaces may use a connection',
    description:
      'Set the namespaces that can use a connection; "*" grants it to all. This replaces earlier grants; existing clusters stay.',
    examples: [
      ['fairlead connection grant site team-a team-b', 'Grant it to two namespaces'],
      ['fairlead connection grant lab "*"', 'Grant it to all namespaces'],
    ],
  }).action(
    runs(io, async (session, name: string, namespaces: string[]) => {
      const item = await change(session, name, { namespaces: namespaces as ConnectionSettings['namespaces'] });
      const shown = item.namespaces?.join(', ') ?? '';
      return { data: item, table: `The connection ${name} is granted to ${shown}.`, names: [name] };
    }),
  );
};

export const addQuota = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'quota <connection>',
    summary: 'Set the quota of a connection for all clusters together',
    description:
      'Set the quota of a connection for all clusters together. This replaces the earlier quota; existing machines stay.',
    examples: [
      ['fairlead connection quota site --nodes 40 --cores 160', 'Limit a connection to 40 machines with 160 CPUs'],
    ],
  });
  withQuota(command).action(
    runs(io, async (session, name: string, quota: Quota) => {
      const item = await change(session, name, {
        quota: limitsOf(quota),
      });
      const limits = quotaText(item.quota);
      return {
        data: item,
        table: limits === '' ? `The connection ${name} has no quota.` : `The quota of connection ${name}: ${limits}.`,
        names: [name],
      };
    }),
  );
};
