import type { StoredEvent } from '@fairlead/contracts';
import { sentenceOfEvent } from '@fairlead/domain';

/** Replaces values that differ between runs (hashes in names, addresses, numbers of attempts) by placeholders. */
const steady = (sentence: string): string =>
  sentence
    .replaceAll(/\b([a-z0-9-]+-(?:cp|w)-\d+)-[a-z0-9]{5}\b/g, '$1')
    .replaceAll(/\b127\.\d+\.\d+\.\d+\b/g, '<address>')
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uid>');

/** Concurrent events without an order: they are listed in this order, then by sentence. */
const SIDE_BY_SIDE: readonly (readonly string[])[] = [
  ['VmCreated'],
  [
    'LoadBalancerReady',
    'DesiredVersionsSet',
    'HostReached',
    'AgentCredentialIssued',
    'AgentStarted',
    'NodeInitialized',
    'NodeBootstrapped',
  ],
  ['ControlPlaneJoined', 'ControlPlaneReady', 'WorkerJoined', 'NodeReady'],
  ['AddonInstalled'],
];

/**
 * Agents report when their own node is Ready, some while others still join: all are listed at the position of the last
 * one.
 */
const readyNodesLast = (events: readonly StoredEvent[]): readonly StoredEvent[] => {
  const ready = events.filter(({ type }) => type === 'NodeReady');
  const rest = events.filter(({ type }) => type !== 'NodeReady');
  const place = rest.findIndex(({ type }) => type === 'AddonInstalled');
  return place < 0 ? events : [...rest.slice(0, place), ...ready, ...rest.slice(place)];
};

const lineOf = (event: StoredEvent): string =>
  `${event.meta.source
    .replace(/^\/node-agent\/.*/, '/node-agent')
    .slice(1)
    .padEnd(14)} ${event.type.padEnd(24)} ${steady(sentenceOfEvent(event))}`;

/**
 * A cluster's log as a story: one line per event, with its actor and sentence; runs of concurrent events are sorted.
 */
export const story = (events: readonly StoredEvent[]): string => {
  const lines = readyNodesLast(events).map((event) => ({
    group: SIDE_BY_SIDE.findIndex((types) => types.includes(event.type)),
    type: event.type,
    text: lineOf(event),
  }));
  const reported: string[] = [];
  for (let index = 0; index < lines.length;) {
    const group = lines[index]?.group ?? -1;
    let end = index + 1;
    while (group >= 0 && lines[end]?.group === group) end += 1;
    const order = SIDE_BY_SIDE[group] ?? [];
    const run = lines
      .slice(index, end)
      .sort((a, b) => order.indexOf(a.type) - order.indexOf(b.type) || a.text.localeCompare(b.text));
    reported.push(...run.map(({ text }) => text));
    index = end;
  }
  return `${reported.join('\n')}\n`;
};
