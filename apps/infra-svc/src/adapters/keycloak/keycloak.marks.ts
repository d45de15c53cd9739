import { RealmFailure, type DesiredIdentity } from '../../realms/realm.ports.js';

/** The attribute that marks a client or a group as a cluster's own. */
const OWNER = 'fairlead.dev/cluster-uid';
/** The attribute that names its cluster. An administrator who sets it alone prepares what the cluster adopts. */
const CLUSTER = 'fairlead.dev/cluster';

type Attributes = Readonly<Record<string, unknown>> | undefined;
interface Marked {
  readonly attributes?: Attributes;
}

/** Attributes of clients are strings, those of groups lists of strings. */
const markIn = ({ attributes }: Marked, name: string): unknown => {
  const mark = attributes?.[name];
  return Array.isArray(mark) ? mark[0] : mark;
};

const nameOf = ({ namespace, cluster }: DesiredIdentity): string => `${namespace}/${cluster}`;

export const marksOf = (desired: DesiredIdentity): Readonly<Record<string, string>> => ({
  [CLUSTER]: nameOf(desired),
  [OWNER]: desired.uid,
});

export const isOwn = (found: Marked, { uid }: DesiredIdentity): boolean => markIn(found, OWNER) === uid;

const hasNoOwner = (found: Marked): boolean => [undefined, ''].includes(markIn(found, OWNER) as undefined);

/** Whether the cluster may use it: it is its own, or was prepared for it. */
const isFor = (found: Marked, desired: DesiredIdentity): boolean =>
  isOwn(found, desired) || (hasNoOwner(found) && markIn(found, CLUSTER) === nameOf(desired));

export const failIfTaken = (
  { reason, what }: { readonly reason: 'ClientTaken' | 'GroupTaken'; readonly what: string },
  found: Marked,
  desired: DesiredIdentity,
): void => {
  if (isFor(found, desired)) return;
  const named = markIn(found, CLUSTER);
  if (named === undefined && hasNoOwner(found))
    throw new RealmFailure(
      reason,
      `the realm has a ${what} already, which was not made by Fairlead. Rename or delete it there; or give it the attribute ${CLUSTER} = ${nameOf(desired)}, and the cluster adopts it`,
    );
  const whose = named === nameOf(desired) ? `an earlier cluster ${plain(named)}` : `the cluster ${plain(named)}`;
  throw new RealmFailure(reason, `the realm has a ${what} already, which is of ${whose}. Rename or delete it there`);
};

const PLAIN = /^[a-z0-9/-]{1,110}$/;
const plain = (text: unknown): string =>
  typeof text === 'string' && PLAIN.test(text) ? text : 'of another installation';
