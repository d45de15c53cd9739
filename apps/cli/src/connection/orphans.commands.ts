import type { Command } from 'commander';
import { randomUUID } from 'node:crypto';
import type { OrphanView } from '../api/api.ports.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { clusterAt } from '../command/session.js';
import { addWaitOptions, checkWaitOptions, waitFor, type WaitOptions } from '../command/waiting.js';
import type { Io } from '../io/io.js';

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
    summary: 'List the orphaned machines of a connection',
    description:
      'List the orphaned machines of a connection: the provider lists them with the marks of the connection, and no cluster has planned them. They are never deleted automatically.',
    examples: [['fairlead connection orphans list lab', 'What may cost money for nothing']],
    isDefault: true,
  }).action(
    runs(io, async (session, name: string) => {
      const items = await session.api.orphans(name);
      return {
        data: items,
        table: {
          columns: ['id', 'name', 'group', 'status', 'machine type', 'zone', 'found', 'deletion'],
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
    summary: 'Delete an orphaned machine',
    description:
      'Delete an orphaned machine. The provider and the log are asked again first: a machine that a cluster has planned stays.',
    examples: [['fairlead connection orphans delete lab i-6b2026400daf --yes', 'Without being asked']],
  });
  addConfirmOption(command).action(
    runs(io, async (session, name: string, id: string, options: ConfirmOptions) => {
      await confirm(io, { what: `Machine ${id} of ${name} will be deleted, and its data lost` }, options);
      await session.api.deleteOrphan(name, id);
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
    summary: 'Make an orphaned machine a node of a pool',
    description:
      'Make an orphaned machine a node of a pool of workers, whose replicas grow by one. It must run, have the machine type, image and zone of the pool, let the SSH key of the connection in, and be no Kubernetes node: this is checked first, and otherwise nothing is changed. From then on the machine belongs to the cluster: it is deleted with its node.',
    examples: [
      ['fairlead connection orphans adopt lab i-6b2026400daf --cluster demo --pool web', 'Asks first'],
      [
        'fairlead connection orphans adopt lab i-6b2026400daf --cluster demo --pool web --yes --wait',
        'Until it is Ready',
      ],
    ],
  })
    .requiredOption('--cluster <name>', 'the cluster that it joins')
    .requiredOption('--pool <name>', 'the pool of workers that grows by it')
    .option('--idempotency-key <key>', 'asking again with the same key adopts nothing more (default: generated)');
  addWaitOptions(addConfirmOption(command)).action(
    runs(io, async (session, name: string, id: string, options: AdoptOptions) => {
      checkWaitOptions(options);
      const { cluster, pool } = options;
      const at = clusterAt(session, cluster);
      const what = `Machine ${id} of ${name} will become a node of pool ${pool} of ${cluster}, and be deleted with it`;
      await confirm(io, { what }, options);
      const { seq } = await session.api.adoptOrphan(name, id, { ...at, pool }, options.idempotencyKey ?? randomUUID());
      const followed = await waitFor(session, at, { seq, what: `adopting ${id} into ${cluster}` }, options);
      const outcome = followed === undefined ? 'is checked, and becomes' : 'is';
      const table = `Machine ${id} of connection ${name} ${outcome} a node of pool ${pool} of ${cluster}.`;
      if (followed === undefined) io.err(`Watch it with "fairlead events ${cluster} --follow".\n`);
      return { data: { name, id, cluster, pool, adopted: followed !== undefined }, table, names: [id] };
    }),
  );
};
