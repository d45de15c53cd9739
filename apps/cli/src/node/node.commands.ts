import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { queryOf } from './action.options.js';
import { nodesAnswer } from '../cluster/cluster.answers.js';
import { moment } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import type { CommandOutput } from '../output/format.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { addWaitOptions, checkWaitOptions, waitFor, type WaitOptions } from '../command/waiting.js';
import type { Io } from '../io/io.js';
import { addAdd } from './add.commands.js';
import { addActionCommands } from './action.commands.js';
import {
  addPoolAndSelector,
  isSelected,
  noneSelected,
  refuseUnknownPools,
  type SelectionOptions,
} from './action.options.js';
import { addNodeDescribeCommand } from './describe.commands.js';
import { addExecCommands } from './exec.commands.js';
import { addNodeHoldCommands } from './hold.commands.js';
import { addJoinCommand } from './join.commands.js';
import { addReplaceCommand } from './replace.commands.js';

export const addNodeCommands = (program: Command, io: Io): void => {
  const node = addGroup(
    program,
    'node',
    'List, describe, add, join, remove, replace, reboot, drain, cordon and hold nodes, and run commands on them',
  ).alias('nodes');
  addList(node, io);
  addNodeDescribeCommand(node, io);
  addAdd(node, io);
  addJoinCommand(node, io);
  addAbandon(node, io);
  addRemove(node, io);
  addCancelRemoval(node, io);
  addReplaceCommand(node, io);
  addActionCommands(node, io);
  addExecCommands(node, io);
  addNodeHoldCommands(node, io);
};

const addList = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'list <cluster>',
    summary: 'List the nodes of a cluster',
    examples: [
      ['fairlead node list demo', 'List all nodes, including those whose machines are only planned'],
      [
        'fairlead node list demo --pool web -l topology.kubernetes.io/zone=lab-1a',
        'List the nodes of a pool in one zone',
      ],
      [
        'fairlead node list demo --output json | jq -r ".[] | select(.ready | not) | .name"',
        'Print the names of nodes that are not Ready',
      ],
      ['fairlead node list demo --at 4711', 'List the nodes as they were at an event'],
    ],
  }).alias('ls');
  addPoolAndSelector(command)
    .option('--at <moment>', 'list them as of this sequence of the log, or this time', moment)
    .action(runs(io, listNodes));
};

interface ListOptions extends SelectionOptions {
  readonly at?: number | string;
}

const listNodes = async (session: Session, name: string, options: ListOptions): Promise<CommandOutput> => {
  const { io } = session;
  const { pool, selector, at: then } = options;
  const at = clusterAt(session, name);
  const isFiltered = pool !== undefined || selector !== undefined;
  const empty = isFiltered ? noneSelected(name, options) : `The cluster ${name} has no nodes.`;
  if (then !== undefined) {
    const { nodes } = await session.api.get('/ns/{namespace}/clusters/{cluster}', at, { query: { at: then } });
    return nodesAnswer(
      nodes.filter((node) => isSelected(node, options)),
      io.now(),
      empty,
    );
  }
  const nodes = await session.api.list('/ns/{namespace}/clusters/{cluster}/nodes', at, { query: queryOf(options) });
  if (nodes.length === 0) await refuseUnknownPools(session, at, pool);
  return nodesAnswer(nodes, io.now(), empty);
};

const addAbandon = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'abandon <cluster>',
    summary: 'Abandon incomplete requests for nodes',
    description:
      'Abandon requests for nodes that are in progress, or that failed and were kept. Their nodes and machines are deleted; nodes that have joined the cluster stay.',
    examples: [['fairlead node abandon demo', 'Remove nodes that could not be added']],
  });
  addConfirmOption(command).action(
    runs(io, async (session, name: string, options: ConfirmOptions) => {
      const what = `Requests for nodes of ${name} that are not complete will be abandoned, and their machines deleted`;
      await confirm(io, { what }, options);
      await session.api.post('/ns/{namespace}/clusters/{cluster}/nodes/abandon', clusterAt(session, name));
      return {
        data: { name, abandoned: true },
        table: `The nodes of ${name} that are not part of the cluster are being removed.`,
        names: [name],
      };
    }),
  );
};

const addRemove = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'remove <cluster> <node>',
    summary: 'Drain a node, and delete it with its machine',
    description:
      'Cordon and drain a node, remove it from etcd and Kubernetes, and delete its machine. A dead host does not block the removal.',
    examples: [['fairlead node remove demo demo-w-2-k3x9q --wait', 'Confirm, and wait until the machine is deleted']],
  });
  addWaitOptions(addConfirmOption(command)).action(
    runs(io, async (session, name: string, node: string, options: WaitOptions & ConfirmOptions) => {
      checkWaitOptions(options);
      await confirm(io, { what: `${node} of ${name} will be drained and removed with its machine` }, options);
      const at = clusterAt(session, name);
      const { seq } = await session.api.delete('/ns/{namespace}/clusters/{cluster}/nodes/{node}', { ...at, node });
      const followed = await waitFor(session, at, { seq, what: `the removal of ${node}` }, options);
      const words = followed === undefined ? 'is being removed' : 'is removed';
      return {
        data: { name: node, removed: followed !== undefined },
        table: `The node ${node} ${words}.`,
        names: [node],
      };
    }),
  );
};

const addCancelRemoval = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'cancel-removal <cluster> <node>',
    summary: 'Cancel the removal of a worker that is still draining',
    description:
      'Cancel the removal of a worker that is still draining, e.g. because a PodDisruptionBudget allows no eviction. The node is uncordoned and counts in its pool again. The removal of a node that is already drained cannot be cancelled.',
    examples: [
      [
        'fairlead node cancel-removal demo demo-w-2-k3x9q --reason "the budget of shop/db allows none"',
        'Keep the worker',
      ],
    ],
  })
    .option('--reason <text>', 'reason, recorded in the history', '')
    .action(
      runs(io, async (session, name: string, node: string, { reason }: { readonly reason: string }) => {
        await session.api.post(
          '/ns/{namespace}/clusters/{cluster}/nodes/{node}/cancel-removal',
          { ...clusterAt(session, name), node },
          { body: { reason }, key: randomUUID() },
        );
        io.err(`Watch it with "fairlead cluster describe ${name} --watch".\n`);
        const table = `The node ${node} stays, unless its drain has ended.`;
        return { data: { name: node, cancelling: true }, table, names: [node] };
      }),
    );
};
