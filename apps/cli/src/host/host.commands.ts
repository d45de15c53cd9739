import type { Command } from 'commander';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { clusterAt } from '../command/session.js';
import type { Io } from '../io/io.js';
import { optional } from '../output/table.js';
import { addPower } from './power.commands.js';

export const addHostCommands = (program: Command, io: Io): void => {
  const host = addGroup(
    program,
    'host',
    'Manage hosts that wait until a pool claims them, and the power of hosts',
  ).alias('hosts');
  addList(host, io);
  addDelete(host, io);
  addPower(host, io);
};

const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list <cluster>',
    summary: 'List the hosts that wait until a pool claims them',
    description:
      'List the hosts that were registered with "fairlead node join-command <cluster> --label" and that no pool has claimed. Nothing is done on them. Once a pool has claimed a host, "fairlead node list" shows it.',
    examples: [['fairlead host list demo', 'List hosts without a pool']],
    isDefault: true,
  }).action(
    runs(io, async (session, name: string) => {
      const at = clusterAt(session, name);
      const items = await session.api.list('/ns/{namespace}/clusters/{cluster}/hosts', at);
      return {
        data: items,
        table: {
          columns: ['id', 'hostname', 'labels', 'address', optional('cpus', 2), optional('registered', 1)],
          rows: items.map(({ name: id, labels, facts, registeredTime }) => [
            ...[id, facts.hostname, labelsText(labels), facts.address, String(facts.cpus), registeredTime],
          ]),
          empty: `No host of ${name} waits for a pool.`,
        },
        names: items.map(({ name: id }) => id),
      };
    }),
  );
};

const labelsText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(',');

const addDelete = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'delete <cluster> <id>',
    summary: 'Delete the registration of a host that waits for a pool',
    description:
      'Delete the registration of a host that waits for a pool: it cannot become a node by its token any more. Nothing was done on the host, and nothing is changed there.',
    examples: [['fairlead host delete demo host-0a1b2c3d4e5f --yes', 'Skip the confirmation']],
  });
  addConfirmOption(command).action(
    runs(io, async (session, name: string, id: string, options: ConfirmOptions) => {
      const at = clusterAt(session, name);
      await confirm(io, { what: `Host ${id} of ${name} will no longer wait for a pool` }, options);
      await session.api.delete('/ns/{namespace}/clusters/{cluster}/hosts/{host}', { ...at, host: id });
      return {
        data: { name: id, deleted: true },
        table: `Host ${id} of ${name} is no longer registered.`,
        names: [id],
      };
    }),
  );
};
