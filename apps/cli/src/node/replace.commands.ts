import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { nodesAnswer } from '../cluster/cluster.answers.js';
import { addCommand, runs } from '../command/command.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { clusterAt, type Session } from '../command/session.js';
import { addWaitOptions, checkWaitOptions, waitFor, waitForAll, type WaitOptions } from '../command/waiting.js';
import { usageFailure } from '../failures.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import {
  addSelectionOptions,
  unlessPoolUnknown,
  selectionOf,
  selectionWords,
  type SelectionOptions,
} from './action.options.js';

type ReplaceOptions = WaitOptions &
  SelectionOptions &
  ConfirmOptions & {
    readonly removeFirst?: true;
    readonly reason?: string;
    readonly idempotencyKey?: string;
  };

interface Which {
  readonly cluster: string;
  readonly nodes: readonly string[];
}

/** `replace` for one node, or for a selection. */
export const addReplaceCommand = (parent: Command, io: Io): void => {
  const command = addSelectionOptions(
    addCommand(parent, {
      usage: 'replace <cluster> [nodes...]',
      summary: 'Replace nodes with new ones of the same pool',
      description:
        'Create a machine in the same pool and, once its node is Ready, drain the old node and delete it with its machine. If the new node fails, the old one stays. Several nodes are replaced by rollouts of their pools, within maxSurge and maxUnavailable of the manifest, control planes one at a time; the first failure stops the rollout of the pool.',
      examples: [
        [
          'fairlead node replace demo demo-w-2-k3x9q --wait',
          'Replace a node, and wait until the old machine is deleted',
        ],
        [
          'fairlead node replace demo demo-w-2-k3x9q --remove-first --reason "disk errors"',
          'Remove the node first, if its host is dead or capacity is short',
        ],
        ['fairlead node replace demo --pool web --reason "a batch of bad disks" --wait', 'Replace all nodes of a pool'],
      ],
    }),
  )
    .option('--remove-first', 'drain and remove the node before its replacement is created; for a single node')
    .option('--reason <text>', 'reason, recorded in the history')
    .option(
      '--idempotency-key <key>',
      'repeating the request with the same key has no further effect (default: generated)',
    );
  addWaitOptions(addConfirmOption(command)).action(
    runs(io, async (session, cluster: string, nodes: readonly string[], options: ReplaceOptions) => {
      checkWaitOptions(options);
      const select = selectionOf(nodes, options);
      const which = selectionWords(cluster, nodes, options);
      const [node] = nodes;
      if (node !== undefined && nodes.length === 1) return replaceOne(session, { cluster, node }, options);
      if (options.removeFirst === true)
        throw usageFailure(
          '--remove-first is for one node',
          'The rollout of a pool decides it for several nodes: maxSurge 0 and maxUnavailable 1 in the manifest.',
        );
      await confirm(session.io, { what: `${which} will be replaced, and their machines deleted` }, options);
      return replaceAll(session, { cluster, nodes }, select, options);
    }),
  );
};

const replaceOne = async (
  session: Session,
  { cluster, node }: { readonly cluster: string; readonly node: string },
  options: ReplaceOptions,
): Promise<CommandOutput> => {
  const { io } = session;
  await confirm(io, { what: `${node} of ${cluster} will be replaced, and its machine deleted` }, options);
  const at = clusterAt(session, cluster);
  const order = options.removeFirst === true ? 'remove-first' : 'create-first';
  const replacement = { order, reason: options.reason ?? '' } as const;
  const { seq } = await session.api.post(
    '/ns/{namespace}/clusters/{cluster}/nodes/{node}/replace',
    { ...at, node },
    { body: replacement, key: options.idempotencyKey ?? randomUUID() },
  );
  const followed = await waitFor(session, at, { seq, what: `the replacement of ${node}` }, options);
  if (followed === undefined)
    io.err(`${node} is being replaced; watch it with "fairlead cluster describe ${cluster} --watch".\n`);
  return nodesAnswer(await session.api.list('/ns/{namespace}/clusters/{cluster}/nodes', at), io.now());
};

const replaceAll = async (
  session: Session,
  { cluster, nodes }: Which,
  select: ReturnType<typeof selectionOf>,
  options: ReplaceOptions,
): Promise<CommandOutput> => {
  const at = clusterAt(session, cluster);
  const { seq, data: asked } = await unlessPoolUnknown(
    session,
    at,
    options.pool,
    session.api.post('/ns/{namespace}/clusters/{cluster}/nodes/replacements', at, {
      body: { select, reason: options.reason },
      key: options.idempotencyKey ?? randomUUID(),
    }),
  );
  const what = `the replacement of ${selectionWords(cluster, nodes, options)}`;
  const followed = await waitForAll(session, at, { seq, operations: asked.operations, what }, options);
  const names = asked.nodes.join(', ');
  // The operation reports nodes that were held in the meantime.
  const notes = followed?.flatMap(({ operation: { message } }) => (message === '' ? [] : [message])) ?? [];
  const table =
    followed === undefined
      ? `${names} will be replaced ("fairlead cluster describe ${cluster}" shows how far that is).`
      : ['Done: ', names, ' replaced.', ...notes.map((note) => ` ${note}`)].join('');
  return { data: asked, table, names: asked.nodes };
};
