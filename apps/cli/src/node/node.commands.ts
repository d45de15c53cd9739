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
      ['fairlead node list demo', 'All nodes, from the moment that their machines are planned'],
      ['fairlead node list demo --pool web -l topology.kubernetes.io/zone=lab-1a', 'Those of a pool, in one zone'],
      [
        'fairlead node list demo --output json | jq -r ".[] | select(.ready | not) | .name"',
        'Those that are not Ready',
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
      ['fairlead node add demo --count 2 --wait', 'Two more, like the workers that there are'],
      ['fairlead node add demo --connection lab --spec lab.large', 'One of another size'],
      ['fairlead node add demo --count 5 --on-failure keep', 'If one fails, keep all for "fairlead cluster retry"'],
    ],
  })
    .option('--count <count>', 'how many', integerBetween(1, WORKERS_MAX), 1)
    .option('--connection <name>', 'where the machine comes from (default: as the first worker)')
    .option('--spec <name>', 'machine size (default: as the first worker)')
    .addOption(
      new Option(
        '--on-failure <what>',
        'what becomes of the new machines if the request fails (default: rollback)',
      ).choices(ON_FAILURES),
    )
    .option('--idempotency-key <key>', 'asking again with the same key adds nothing more (default: generated)');
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
      if (followed === undefined) io.err(`${name} gets ${words}; watch it with "fairlead events ${name} --follow".\n`);
      return nodesAnswer(await session.api.nodes(at), io.now());
    }),
  );
};

const addAbandon = (parent: Command, io: Io): void => {
  const command = addCommand(parent, {
    usage: 'abandon <cluster>',
    summary: 'Abandon requests for nodes that are not complete',
    description:
      'Give up requests for nodes that are under way, and those that failed and were kept. Their nodes and machines are removed; nodes that are part of the cluster stay.',
    examples: [['fairlead node abandon demo', 'Be asked, and remove what could not be added']],
  });
  addConfirmOption(command).action(
    runs(io, async (session, name: string, options: ConfirmOptions) => {
      const what = `Requests for nodes of ${name} that are not complete will be given up, and their machines deleted`;
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
    summary: 'Drain a node and remove it with its machine',
    description:
      'Cordon and drain a node, take it out of etcd and Kubernetes, and delete its machine. A dead host does not block it.',
    examples: [['fairlead node remove demo demo-w-2-k3x9q --wait', 'Be asked, and watch until its machine is gone']],
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
    summary: 'Keep a worker whose removal waits for its drain',
    description:
      'Cancel the removal of a worker, e.g. one whose drain waits for a PodDisruptionBudget that allows no eviction. It is uncordoned, and its pool counts it again. A node that is drained already is removed: cancelling is refused, or comes too late, which the history shows.',
    examples: [
      ['fairlead node cancel-removal demo demo-w-2-k3x9q --reason "the budget of shop/db allows none"', 'Keep it'],
    ],
  })
    .option('--reason <text>', 'why; shown in the history', '')
    .action(
      runs(io, async (session, name: string, node: string, { reason }: { readonly reason: string }) => {
        await session.api.cancelRemoval(clusterAt(session, name), node, reason, randomUUID());
        io.err(`Watch it with "fairlead events ${name} --follow".\n`);
        const table = `The node ${node} stays, unless its drain has ended.`;
        return { data: { name: node, cancelling: true }, table, names: [node] };
      }),
    );
};
