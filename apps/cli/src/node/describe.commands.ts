import type { Command } from 'commander';
import { eventsOf } from '../api/streams.js';
import type { EventView, NodeView } from '../api/views.js';
import { addCommand, runs } from '../command/command.js';
import { clusterAt, type Session } from '../command/session.js';
import { eventLine } from '../events/event.line.js';
import { mentions } from '../events/mentions.js';
import type { Io } from '../io/io.js';
import { factLines, listed, type Fact } from '../output/facts.text.js';
import type { CommandOutput } from '../output/format.js';

/** The number of latest events that are printed. */
const EVENTS_SHOWN_MAX = 10;

export const addNodeDescribeCommand = (parent: Command, io: Io): void => {
  addCommand(parent, {
    usage: 'describe <cluster> <node>',
    summary: 'Show a node, its condition and its latest events',
    examples: [
      ['fairlead node describe demo demo-w-2-k3x9q', 'Show phase, machine, software and latest events'],
      ['fairlead events demo --node demo-w-2-k3x9q', 'Print all events of the node'],
    ],
  }).action(runs(io, describe));
};

const describe = async (session: Session, cluster: string, name: string): Promise<CommandOutput> => {
  const { api } = session;
  const at = clusterAt(session, cluster);
  const node = await api.get('/ns/{namespace}/clusters/{cluster}/nodes/{node}', { ...at, node: name });
  const events = (await eventsOf(api, at, { since: 0 }))
    .filter((event) => mentions(event, name))
    .slice(-EVENTS_SHOWN_MAX);
  return { data: { ...node, events }, table: nodeText(node, events, `${at.namespace}/${cluster}`), names: [name] };
};

const nodeText =
  (node: NodeView, events: readonly EventView[], cluster: string) =>
  (columns: number): string =>
    [
      `${node.name} of ${cluster}`,
      ...factLines(factsOf(node), columns),
      '  latest events',
      ...events.flatMap((event) =>
        eventLine(event, columns - 2)
          .split('\n')
          .map((line) => `  ${line}`),
      ),
    ].join('\n');

const factsOf = (node: NodeView): readonly Fact[] => {
  const { phase, reason, changedAt, role, pool, leader, spec, connection, csp, createdTime } = node;
  return [
    ['state', `${phase}${reason === '' ? '' : `: ${reason}`} (last event ${changedAt})`],
    ['role', leader ? `${role}, the first one` : role],
    ['pool', pool],
    [
      'machine type',
      `${spec} of the connection ${connection} (${csp})${createdTime === '' ? '' : `, since ${createdTime}`}`,
    ],
    ['addresses', listed(addressesOf(node), 'none yet')],
    ['labels', listed(labelsOf(node), 'none')],
    [
      'software',
      listed(
        Object.entries(node.software).map(([name, version]) => `${name} ${version}`),
        'not reported yet',
      ),
    ],
    ['updates', node.updatesDisabled === null ? 'enabled' : `disabled: ${node.updatesDisabled}`],
    ['cordon', cordonText(node)],
    ...(node.drift === undefined ? [] : [['drift', driftText(node.drift)] as const]),
    ...(node.remediation === undefined ? [] : [['health check', node.remediation] as const]),
    ...(node.extraFor === undefined ? [] : [['extra', `for the upgrade ${node.extraFor}`] as const]),
  ];
};

/** An earlier release returns only two of them. */
const addressesOf = ({ addresses, publicIp, privateIp }: NodeView): readonly string[] =>
  (addresses as NodeView['addresses'] | undefined) === undefined
    ? [...new Set([publicIp, privateIp])].filter(Boolean)
    : addresses.map(({ type, address }) => `${address} (${type})`);

/** Labels that are specific to this node come first. An earlier release returns only two of them. */
const labelsOf = ({ labels, regionLabel, zoneLabel }: NodeView): readonly string[] =>
  (labels as NodeView['labels'] | undefined) === undefined
    ? [regionLabel, zoneLabel].filter(Boolean)
    : Object.entries(labels).map(([key, value]) => `${key}=${value}`);

const driftText = ({ since, differences, message }: NonNullable<NodeView['drift']>): string => {
  const words = differences.map(
    ({ item, what, observed, desired }) => `${item} ${what} is ${observed}, not ${desired}`,
  );
  return `since ${since}: ${words.join('; ')}${message === '' ? '' : `. ${message}`}`;
};

const cordonText = ({ cordon }: NodeView): string =>
  cordon === undefined ? 'none by Fairlead' : `since ${cordon.since} by ${cordon.actor}: ${cordon.reason}`;
