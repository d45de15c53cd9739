import { createHash } from 'node:crypto';
import type { GroupRef } from '../../providers/provider.ports.js';

/** The tags with which resources are marked with their owner, from their creation on. */
export const TAG = {
  connection: 'fairlead.dev/connection',
  group: 'fairlead.dev/group',
  uid: 'fairlead.dev/uid',
  name: 'fairlead.dev/name',
  image: 'fairlead.dev/image',
  role: 'fairlead.dev/role',
  /** How the machine is reached, if it connects by itself. */
  reach: 'fairlead.dev/reach',
  /** The load balancer that a resource belongs to. */
  balancer: 'fairlead.dev/balancer',
} as const;

export interface Tag {
  readonly Key: string;
  readonly Value: string;
}

export type Tags = Readonly<Record<string, string>>;

export const tagsOf = (tags: Tags): Tag[] => Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));

export const tagsIn = (
  tags: readonly { readonly Key?: string | undefined; readonly Value?: string | undefined }[] | undefined,
): Tags => Object.fromEntries((tags ?? []).map(({ Key = '', Value = '' }) => [Key, Value]));

/** What is shared by all clusters of a connection. `Name` is what AWS's console shows. */
export const sharedTags = (connection: string, name: string): Tags => ({ Name: name, [TAG.connection]: connection });

/** What belongs to one cluster. */
export const groupTags = (
  connection: string,
  { name: group, uid }: Pick<GroupRef, 'name' | 'uid'>,
  name: string,
): Tags => ({ ...sharedTags(connection, name), [TAG.group]: group, [TAG.uid]: uid });

/** Group names end with their connection, and names have no dots. */
export const isOfConnection = (tags: Tags, connection: string): boolean =>
  tags[TAG.connection] === connection && (tags[TAG.group] ?? `.${connection}`).endsWith(`.${connection}`);

export const isOfGroup = (tags: Tags, { name, uid }: Pick<GroupRef, 'name' | 'uid'>): boolean =>
  tags[TAG.group] === name && tags[TAG.uid] === uid;

const NAME_DIGITS = 24;
const digest = (parts: readonly string[]): string => createHash('sha256').update(JSON.stringify(parts)).digest('hex');

/** Names of load balancers have at most 32 letters, digits and hyphens. */
export const BALANCER_PREFIX = 'fl-';
export const balancerName = (connection: string, name: string): string =>
  `${BALANCER_PREFIX}${digest([connection, name]).slice(0, NAME_DIGITS)}`;

/**
 * The second guard against a second instance of a machine, where EC2 does not show the first one yet: the same request
 * has the same token. `before`: terminated instances of that name, because EC2 would answer with one of them.
 */
export const clientToken = (of: {
  readonly uid: string;
  readonly name: string;
  readonly subnet: string;
  readonly spot: boolean;
  readonly before: readonly string[];
}): string => digest([of.uid, of.name, of.subnet, String(of.spot), ...[...of.before].sort()]);
