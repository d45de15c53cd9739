import type { GroupRef } from '../../providers/provider.ports.js';

/**
 * How what is made at OpenStack says whose it is. Servers have it in metadata and a tag, whose names admit no slash; Neutron's resources in
 * their description, which is set with their creation; server groups, which have neither, in their name.
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

/** What all clusters of the connection share. */
export const sharedMark = (connection: string): string => `${MARK}/${connection}`;

/** What belongs to one cluster; `of`: the ID of the server that it is for, or what else it is. */
export const groupMark = ({ name, uid }: Pick<GroupRef, 'name' | 'uid'>, of: string): string =>
  `${MARK}/${name}/${uid}/${of}`;

/** Names of groups end with their connection; names have no dots. */
const isOf = (group: string, connection: string): boolean => group.endsWith(`.${connection}`);

export interface Mark {
  readonly group: string;
  readonly uid: string;
  readonly of: string;
}

/** undefined: it is not a cluster's, or that of another connection. */
export const markIn = (text: string | null | undefined, connection: string): Mark | undefined => {
  const [first, group, uid, of, ...rest] = (text ?? '').split('/');
  if (first !== MARK || group === undefined || uid === undefined || of === undefined || rest.length > 0)
    return undefined;
  return isOf(group, connection) ? { group, uid, of } : undefined;
};

/** The tag on a security group by which a deleted incarnation is never made again. */
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
