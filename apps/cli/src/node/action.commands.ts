import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import type { NodeActionFields, NodeActionView } from '../api/views.js';
import { addCommand, runs } from '../command/command.js';
import type { Example } from '../command/help.text.js';
import { addConfirmOption, confirm, type ConfirmOptions } from '../command/confirm.js';
import { duration, integerBetween } from '../command/parsers.js';
import { clusterAt, type Session } from '../command/session.js';
import { addWaitOptions, checkWaitOptions, waitFor, type WaitOptions } from '../command/waiting.js';
import type { Io } from '../io/io.js';
import type { CommandOutput } from '../output/format.js';
import {
  addSelectionOptions,
  unlessPoolUnknown,
  selectionOf,
  selectionWords,
  type SelectionOptions,
} from './action.options.js';

const NODES_MAX = 500;
const MS_PER_SECOND = 1_000;

type Kind = NodeActionFields['action'];

type ActionOptions = WaitOptions &
  SelectionOptions &
  ConfirmOptions & {
    readonly reason?: string;
    readonly drain?: boolean;
    readonly drainTimeout?: number;
    readonly maxUnavailable?: number;
    readonly expires?: number;
    readonly idempotencyKey?: string;
  };

interface Definition {
  readonly action: Kind;
  readonly summary: string;
  readonly description: string;
  readonly examples: readonly Example[];
  /** Whether pods are evicted from the nodes. */
  readonly takesDown: boolean;
}

const ING: Readonly<Record<Kind, string>> = {
  reboot: 'rebooted',
  drain: 'cordoned and drained',
  cordon: 'cordoned',
  uncordon: 'uncordoned',
  repair: 'drained and repaired',
};

const DEFINITIONS: readonly Definition[] = [
  {
    action: 'reboot',
    summary: 'Reboot nodes one at a time',
    description:
      'Drain each node, reboot it exactly once, and wait until it is Ready. A node whose agent is disconnected is rebooted when the agent returns, unless the host has booted since the request. Control planes are rebooted one at a time.',
    examples: [
      ['fairlead node reboot demo demo-w-2-k3x9q --wait', 'One node, and wait until it is done'],
      [
        'fairlead node reboot demo --pool web --max-unavailable 2 --reason "new kernel" --yes',
        'A pool, two nodes at a time',
      ],
    ],
    takesDown: true,
  },
  {
    action: 'drain',
    summary: 'Cordon and drain nodes; they stay cordoned',
    description:
      'Cordon nodes and evict their pods, within PodDisruptionBudgets and the drain rules of the manifest. They stay cordoned until "fairlead node uncordon".',
    examples: [
      ['fairlead node drain demo demo-w-2-k3x9q --reason "new memory" --wait', 'One node, and wait until it is done'],
    ],
    takesDown: true,
  },
  {
    action: 'cordon',
    summary: 'Mark nodes as unschedulable',
    description:
      'Mark nodes as unschedulable until "fairlead node uncordon". Upgrades and reboots do not uncordon them. "fairlead node list" shows the reason.',
    examples: [['fairlead node cordon demo -l tier=web --reason "bad disks"', 'Nodes with a label']],
    takesDown: false,
  },
  {
    action: 'uncordon',
    summary: 'Mark nodes that Fairlead cordoned as schedulable',
    description:
      'Mark nodes as schedulable that "fairlead node cordon" or "fairlead node drain" cordoned. Other cordons stay.',
    examples: [['fairlead node uncordon demo --all', 'All nodes that Fairlead cordoned']],
    takesDown: false,
  },
  {
    action: 'repair',
    summary: 'Make nodes as desired again, after a drain',
    description:
      'Drain each node, let its agent repair what differs from the desired state (versions of packages, settings, files), and wait until it is Ready. With "drift: repair", the default, this happens by itself; with "drift: report", when you request it.',
    examples: [['fairlead node repair demo demo-w-2-k3x9q --wait', 'One node, and wait until it is done']],
    takesDown: true,
  },
];

/** Commands that start long-running actions on nodes. */
export const addActionCommands = (parent: Command, io: Io): void => {
  for (const definition of DEFINITIONS) addAction(parent, definition, io);
  addCancel(parent, io);
};

const addAction = (parent: Command, definition: Definition, io: Io): void => {
  const { action, summary, description, examples, takesDown } = definition;
  const command = addSelectionOptions(
    addCommand(parent, { usage: `${action} <cluster> [nodes...]`, summary, description, examples }),
  ).option('--reason <text>', 'reason, recorded in the history');
  if (action === 'reboot' || action === 'repair') command.option('--no-drain', `${action} without draining the node`);
  if (takesDown)
    command
      .option('--drain-timeout <duration>', 'how long a drain may take; 0s for no limit (default: 15m)', duration)
      .option('--max-unavailable <count>', 'workers to change at a time (default: 1)', integerBetween(1, NODES_MAX));
  command
    .option('--expires <duration>', 'skip nodes whose turn has not come by then (default: 24h)', duration)
    .option(
      '--idempotency-key <key>',
      'repeating the request with the same key has no further effect (default: generated)',
    );
  if (takesDown) addConfirmOption(command);
  else command.option('-y, --yes', 'as for drain and reboot; nothing is asked here');
  addWaitOptions(command).action(
    runs(io, (session, cluster: string, nodes: readonly string[], options: ActionOptions) =>
      act(session, definition, { cluster, nodes }, options),
    ),
  );
};

const secondsOf = (ms: number | undefined): number | undefined =>
  ms === undefined ? undefined : Math.ceil(ms / MS_PER_SECOND);

const fieldsOf = (action: Kind, nodes: readonly string[], options: ActionOptions): NodeActionFields => ({
  action,
  select: selectionOf(nodes, options),
  reason: options.reason,
  drain: options.drain === false ? false : undefined,
  drainTimeoutSeconds: secondsOf(options.drainTimeout),
  maxUnavailable: options.maxUnavailable,
  expiresInSeconds: secondsOf(options.expires),
});

const act = async (
  session: Session,
  { action, takesDown }: Definition,
  { cluster, nodes }: { readonly cluster: string; readonly nodes: readonly string[] },
  options: ActionOptions,
): Promise<CommandOutput> => {
  checkWaitOptions(options);
  const fields = fieldsOf(action, nodes, options);
  const which = selectionWords(cluster, nodes, options);
  const at = clusterAt(session, cluster);
  if (takesDown) await confirm(session.io, { what: `${which} will be ${ING[action]}` }, options);
  const { seq, data: asked } = await unlessPoolUnknown(
    session,
    at,
    options.pool,
    session.api.post('/ns/{namespace}/clusters/{cluster}/nodes/actions', at, {
      body: fields,
      key: options.idempotencyKey ?? randomUUID(),
    }),
  );
  if (asked.operation === null)
    return answerOf(asked, `Nothing to do: ${which} ${nodes.length === 1 ? 'is' : 'are'} ${ING[action]} already.`);
  const followed = await waitFor(session, at, { seq, what: `the request to ${action} ${which}` }, options);
  const names = asked.nodes.join(', ');
  if (followed !== undefined) {
    const { message } = followed.operation;
    return answerOf(asked, `Done: ${names} ${ING[action]}.${message === '' ? '' : ` ${message}`}`);
  }
  return answerOf(
    asked,
    `${names} will be ${ING[action]} (operation ${asked.operation}; "fairlead cluster describe ${cluster}" shows how far it is).`,
  );
};

const answerOf = (asked: NodeActionView, table: string): CommandOutput => ({ data: asked, table, names: asked.nodes });

const addCancel = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'cancel <cluster> <operation>',
    summary: 'Cancel a request to reboot, drain, cordon, uncordon or repair nodes',
    description:
      'Start no further node. A node in progress is uncordoned; a reboot or repair in progress is finished. The id of the operation is printed by the request and by "fairlead cluster describe".',
    examples: [['fairlead node cancel demo 01KD8Q3V5W --reason "the wrong pool"', 'Cancel by the id of the operation']],
  })
    .option('--reason <text>', 'reason, recorded in the history', '')
    .action(
      runs(io, async (session, cluster: string, operation: string, { reason }: { readonly reason: string }) => {
        const { data: asked } = await session.api.post(
          '/ns/{namespace}/clusters/{cluster}/operations/{operation}/cancel',
          { ...clusterAt(session, cluster), operation },
          { body: { reason } },
        );
        return answerOf(asked, `Operation ${operation} is cancelled; no further node is started.`);
      }),
    );
};
