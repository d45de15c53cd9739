import { randomUUID } from 'node:crypto';
import { ON_FAILURES, type OnFailure } from '@fairlead/contracts';
import { Option, type Command } from 'commander';
import type { NodeSetRequest } from '../api/api.ports.js';
import { nodesAnswer } from '../cluster/cluster.answers.js';
import { clusterAt } from '../command/session.js';
import { addCommand, addGroup, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { integerBetween } from '../command/parsers.js';
import { addWaitOptions, checkWaitOptions, waitFor, type WaitOptions } from '../command/waiting.js';
import type { Io } from '../io/io.js';
import { addActionCommands } from './action.commands.js';
import { addPoolAndSelector, type SelectionOptions } from './action.options.js';
import { addNodeDescribeCommand } from './describe.commands.js';
import { addExecCommands } from './exec.commands.js';
import { addNodeHoldCommands } from './hold.commands.js';
import { addReplaceCommand } from './replace.commands.js';

const WORKERS_MAX = 500;

export const addNodeCommands = (program: Command, io: Io): void => {
  const node = addGroup(
    program,
    'node',
    'List, describe, add, remove, replace, reboot, drain, cordon and hold nodes, and run commands on them',
  ).alias('nodes');
  addList(node, io);
  addNodeDescribeCommand(node, io);
  addAdd(node, io);
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
    ],
  }).alias('ls');
  addPoolAndSelector(command).action(
    runs(io, async (session, name: string, { pool, selector }: SelectionOptions) => {
      const selection = {
        ...(pool === undefined ? {} : { pools: [...pool] }),
        ...(selector === undefined ? {} : { labels: { ...selector } }),
      };
      return nodesAnswer(await session.api.nodes(clusterAt(session, name), selection), io.now());
    }),
  );
};

type AddOptions = WaitOptions & {
  readonly count: number;
  readonly connection?: string;
  readonly spec?: string;
  readonly idempotencyKey?: string;
  readonly onFailure?: OnFailure;
};

const addAdd = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'add <cluster>',
    summary: 'Add workers to a cluster',
    examples: [
      ['fairlead node add demo --count 2 --wait', 'Add two workers like the existing ones'],
      ['fairlead node add demo --connection lab --spec lab.large', 'Add a worker of another size'],
      [
        'fairlead node add demo --count 5 --on-failure keep',
        'Keep the machines for "fairlead cluster retry" if a node fails',
      ],
    ],
  })
    .option('--count <count>', 'number of workers', integerBetween(1, WORKERS_MAX), 1)
    .option('--connection <name>', "connection that provides the machines (default: the first worker's)")
    .option('--spec <name>', "machine size (default: the first worker's)")
    .addOption(
      new Option(
        '--on-failure <what>',
        'what to do with the new machines if the request fails (default: rollback)',
      ).choices(ON_FAILURES),
    )
    .option(
      '--idempotency-key <key>',
      'repeating the request with the same key has no further effect (default: generated)',
    );
  addWaitOptions(command).action(
    runs(io, async (session, name: string, options: AddOptions) => {
      checkWaitOptions(options);
      const at = clusterAt(session, name);
      const like = options.connection === undefined || options.spec === undefined ? await session.api.nodes(at) : [];
      const model = like.find(({ role }) => role === 'worker') ?? like[0];
      const set: NodeSetRequest = {
        count: options.count,
        connection: options.connection ?? model?.connection,
        spec: options.spec ?? model?.spec,
      };
      const { seq } = await session.api.addNodes(
        at,
        { worker: [set], ...(options.onFailure === undefined ? {} : { onFailure: options.onFailure }) },
        options.idempotencyKey ?? randomUUID(),
      );
      const words = options.count === 1 ? 'one more worker' : `${options.count} more workers`;
      const followed = await waitFor(session, at, { seq, what: `adding ${words} to ${name}` }, options);
      if (followed === undefined)
        io.err(`${name} gets ${words}; watch it with "fairlead cluster describe ${name} --watch".\n`);
      return nodesAnswer(await session.api.nodes(at), io.now());
    }),
  );
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
      await session.api.abandonNodes(clusterAt(session, name));
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
      const { seq } = await session.api.removeNode(at, node);
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
        await session.api.cancelRemoval(clusterAt(session, name), node, reason, randomUUID());
        io.err(`Watch it with "fairlead cluster describe ${name} --watch".\n`);
        const table = `The node ${node} stays, unless its drain has ended.`;
        return { data: { name: node, cancelling: true }, table, names: [node] };
      }),
    );
};
