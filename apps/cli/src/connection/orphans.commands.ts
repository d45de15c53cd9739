import type { Command } from 'commander';
import { randomUUID } from 'node:crypto';
import type { OrphanView } from '../api/views.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { clusterAt } from '../command/session.js';
import { addWaitOptions, checkWaitOptions, waitFor, type WaitOptions } from '../command/waiting.js';
import type { Io } from '../io/io.js';
import { optional, prose } from '../output/table.js';

export const addOrphans = (parent: Command, io: Io): void => {
  const orphans = addGroup(parent, 'orphans', 'Machines of a connection that no cluster has planned');
  addList(orphans, io);
  addAdopt(orphans, io);
  addDelete(orphans, io);
};

const stateOf = ({ deletion, reason }: OrphanView): string => {
  if (deletion === 'requested') return 'being deleted';
  return deletion === 'refused' ? `not deleted: ${reason}` : '';
};

const addList = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'list <connection>',
    shared: 'installation',
    summary: 'List the orphaned machines of a connection',
    description:
      'List the orphaned machines of a connection: machines with the tags of the connection that belong to no cluster. They are never deleted automatically.',
    examples: [['fairlead connection orphans list lab', 'List machines that no cluster uses']],
    isDefault: true,
  }).action(
    runs(io, async (session, name: string) => {
      const items = await session.api.list('/connections/{connection}/orphans', { connection: name });
      return {
        data: items,
        table: {
          columns: [
            ...['id', 'name', optional('group', 4), 'state', optional('machine type', 3), optional('zone', 2)],
            ...[optional('found', 1), prose('deletion')],
          ],
          rows: items.map((item) => [
            ...[item.id, item.name, item.group, item.status, item.spec, item.zone],
            ...[item.foundTime, stateOf(item)],
          ]),
          empty: `The connection ${name} has no orphaned machines.`,
        },
        names: items.map(({ id }) => id),
      };
    }),
  );
};

const addDelete = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'delete <connection> <id>',
    shared: 'installation',
    summary: 'Delete an orphaned machine',
    description:
      'Delete an orphaned machine. The provider and the log are checked again first; a machine that belongs to a cluster is not deleted.',
    examples: [['fairlead connection orphans delete lab i-6b2026400daf --yes', 'Skip the confirmation']],
  });
  addConfirmOption(command).action(
    runs(io, async (session, name: string, id: string, options: ConfirmOptions) => {
      await confirm(io, { what: `Machine ${id} of ${name} will be deleted, and its data lost` }, options);
      await session.api.delete('/connections/{connection}/orphans/{orphan}', { connection: name, orphan: id });
      const table = `Machine ${id} of connection ${name} will be checked again and deleted.`;
      return { data: { name, id, deleting: true }, table, names: [id] };
    }),
  );
};

interface AdoptOptions extends ConfirmOptions, WaitOptions {
  readonly cluster: string;
  readonly pool: string;
  readonly idempotencyKey?: string;
}

const addAdopt = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'adopt <connection> <id>',
    summary: 'Adopt an orphaned machine as a node of a pool',
    description:
      'Adopt an orphaned machine as a node of a worker pool, whose replicas grow by one. The machine must be running, have the machine type, image and zone of the pool, accept the SSH key of the connection, and not be a Kubernetes node; otherwise nothing is changed. From then on it belongs to the cluster, and is deleted with its node.',
    examples: [
      [
        'fairlead connection orphans adopt lab i-6b2026400daf --cluster demo --pool web',
        'Adopt a machine, after a confirmation',
      ],
      [
        'fairlead connection orphans adopt lab i-6b2026400daf --cluster demo --pool web --yes --wait',
        'Adopt a machine, and wait until its node is Ready',
      ],
    ],
  })
    .requiredOption('--cluster <name>', 'cluster that the machine joins')
    .requiredOption('--pool <name>', 'worker pool that the machine joins')
    .option(
      '--idempotency-key <key>',
      'repeating the request with the same key has no further effect (default: generated)',
    );
  addWaitOptions(addConfirmOption(command)).action(
    runs(io, async (session, name: string, id: string, options: AdoptOptions) => {
      checkWaitOptions(options);
      const { cluster, pool } = options;
      const at = clusterAt(session, cluster);
      const what = `Machine ${id} of ${name} will become a node of pool ${pool} of ${cluster}, and be deleted with it`;
      await confirm(io, { what }, options);
      const { seq } = await session.api.post(
        '/connections/{connection}/orphans/{orphan}/adopt',
        { connection: name, orphan: id },
        { body: { ...at, pool }, key: options.idempotencyKey ?? randomUUID() },
      );
      const followed = await waitFor(session, at, { seq, what: `adopting ${id} into ${cluster}` }, options);
      const outcome = followed === undefined ? 'is checked, and becomes' : 'is';
      const table = `Machine ${id} of connection ${name} ${outcome} a node of pool ${pool} of ${cluster}.`;
      if (followed === undefined) io.err(`Watch it with "fairlead cluster describe ${cluster} --watch".\n`);
      return { data: { name, id, cluster, pool, adopted: followed !== undefined }, table, names: [id] };
    }),
  );
};
