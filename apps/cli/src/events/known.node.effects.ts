import { eventsOf } from '../api/streams.js';
import type { ClusterAt, EventView } from '../api/views.js';
import { nearest } from '../command/nearest.js';
import type { Session } from '../command/session.js';
import { CliFailure } from '../failures.js';
import { unlessUnknown } from '../progress/follow.effects.js';
import { mentions } from './mentions.js';

const NEAR_MAX = 3;
const REPORTER = 'node/';

/** Names of nodes in an event, including deleted ones. */
const namedIn = ({ actor, data }: EventView): readonly string[] => {
  const { node } = data as { readonly node?: unknown };
  return [
    ...(actor.startsWith(REPORTER) ? [actor.slice(REPORTER.length)] : []),
    ...(typeof node === 'string' ? [node] : []),
  ];
};

/** The random suffix of a name is the part that is most often mistyped. */
const withoutEnd = (name: string): string => name.replace(/-[^-]*$/, '');

const isLike = (name: string, given: string): boolean =>
  name.startsWith(given) || withoutEnd(name) === withoutEnd(given);

/** Refuses a misspelled name, which would look like a node without events. A deleted node is known from its events. */
export const refuseUnknownNode = async ({ api }: Session, at: ClusterAt, node: string): Promise<void> => {
  const present = ((await unlessUnknown(api.list('/ns/{namespace}/clusters/{cluster}/nodes', at))) ?? []).map(
    ({ name }) => name,
  );
  if (present.includes(node)) return;
  const events = await eventsOf(api, at, { since: 0, types: [] });
  if (events.some((event) => mentions(event, node))) return;
  const names = [...new Set([...present, ...events.flatMap(namedIn)])].sort();
  const spelled = nearest(node, names, (name) => [name]);
  const near = [...new Set([...spelled, ...names.filter((name) => isLike(name, node))])].slice(0, NEAR_MAX);
  throw new CliFailure('not-found', {
    code: 'cli.node-unknown',
    message: `The cluster ${at.cluster} has no node ${node}, and had none`,
    help:
      near.length === 0
        ? `"fairlead node list ${at.cluster}" lists its nodes.`
        : `Did you mean ${near.join(' or ')}? "fairlead node list ${at.cluster}" lists its nodes.`,
  });
};
