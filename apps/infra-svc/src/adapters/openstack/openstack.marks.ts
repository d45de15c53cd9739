import { shortened } from '@fairlead/contracts';
import type { GroupRef } from '../../providers/provider.ports.js';

/**
 * How resources in OpenStack are marked with their owner. Servers have metadata and a tag, whose names must not contain
 * a slash; Neutron's resources use their description, which is set at creation; server groups, which have neither, use
 * their name.
 */
export const META = {
  group: 'fairlead.group',
  uid: 'fairlead.uid',
  name: 'fairlead.name',
  image: 'fairlead.image',
} as const;

const MARK = 'fairlead';

/** The tag of every server of a connection. */
export const connectionTag = (connection: string): string => `${MARK}.${connection}`;

/** The mark of resources that all clusters of the connection share. */
export const sharedMark = (connection: string): string => `${MARK}/${connection}`;

/** Descriptions of Neutron's resources and names of server groups have at most 255 characters. */
const MARK_LENGTH_MAX = 255;

/**
 * The mark of a resource of one cluster; `of`: the ID of its server, or its kind. The cluster is in it by its uid; its
 * name, which is shortened where the mark would be too long, is for people.
 */
export const groupMark = ({ name, uid }: Pick<GroupRef, 'name' | 'uid'>, of: string): string => {
  const markOf = (group: string): string => `${MARK}/${group}/${uid}/${of}`;
  const [namespace = '', cluster = '', connection = ''] = name.split('.');
  const rest = markOf(`${namespace}..${connection}`).length;
  return markOf(`${namespace}.${shortened(cluster, MARK_LENGTH_MAX - rest)}.${connection}`);
};

/** Group names end with their connection, and names have no dots. */
const isOf = (group: string, connection: string): boolean => group.endsWith(`.${connection}`);

export interface Mark {
  readonly group: string;
  readonly uid: string;
  readonly of: string;
}

/** Returns undefined for a resource that belongs to no cluster, or to another connection. */
export const markIn = (text: string | null | undefined, connection: string): Mark | undefined => {
  const [first, group, uid, of, ...rest] = (text ?? '').split('/');
  if (first !== MARK || group === undefined || uid === undefined || of === undefined || rest.length > 0)
    return undefined;
  return isOf(group, connection) ? { group, uid, of } : undefined;
};

/** The tag of a security group that prevents a deleted incarnation from being recreated. */
export const goneTag = (uid: string, day: string): string => `${MARK}-gone-${day}-${uid}`;

const GONE = /^fairlead-gone-(\d{4}-\d{2}-\d{2})-(.+)$/;

export interface Gone {
  readonly tag: string;
  readonly day: string;
  readonly uid: string;
}

export const goneIn = (tags: readonly string[]): readonly Gone[] =>
  tags.flatMap((tag) => {
    const [, day, uid] = GONE.exec(tag) ?? [];
    return day === undefined || uid === undefined ? [] : [{ tag, day, uid }];
  });
