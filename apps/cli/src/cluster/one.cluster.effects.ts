import type { ClusterView } from '../api/views.js';
import type { Session } from '../command/session.js';
import { usageFailure } from '../failures.js';
import type { CommandOutput } from '../output/format.js';
import { unlessUnknown } from '../progress/follow.effects.js';
import { clusterAnswer } from './cluster.answers.js';
import { clusterObject, clusterWithoutSpec } from './cluster.object.js';

export interface LadybugOption {
  readonly ladybug?: true;
}

export const LADYBUG_OPTION = [
  '--ladybug',
  'with -o json or yaml: the fields of CB-Ladybug, instead of the manifest with its status',
] as const;

const isForPrograms = ({ format }: Pick<Session, 'format'>): boolean => format === 'json' || format === 'yaml';

/** Called before any request. */
export const checkLadybug = (session: Session, { ladybug }: LadybugOption): void => {
  if (ladybug === true && !isForPrograms(session))
    throw usageFailure('--ladybug needs -o json or -o yaml', 'Tables are the same with and without it.');
};

/** The json and yaml output for a cluster: one document that can be applied. A deleted cluster has no spec. */
export const documentOf = async (
  { api }: Pick<Session, 'api'>,
  cluster: ClusterView,
): Promise<ReturnType<typeof clusterObject> | ReturnType<typeof clusterWithoutSpec>> => {
  const { namespace, name, lastSeq } = cluster;
  const manifest = await unlessUnknown(
    api.get(
      '/ns/{namespace}/clusters/{cluster}/manifest',
      { namespace, cluster: name },
      { query: { minSeq: lastSeq } },
    ),
  );
  return manifest === undefined ? clusterWithoutSpec(cluster) : clusterObject(manifest, cluster);
};

/** A cluster, possibly after a change; `answer` is its text form. */
export const withDocument = async (
  session: Session,
  cluster: ClusterView,
  answer: CommandOutput = clusterAnswer(cluster, session.io.now()),
): Promise<CommandOutput> =>
  isForPrograms(session) ? { ...answer, data: await documentOf(session, cluster) } : answer;

/** The maximum number of manifests that are read concurrently. */
const READS_MAX = 8;

export const withDocuments = async <A extends CommandOutput>(
  session: Session,
  clusters: readonly ClusterView[],
  answer: A,
): Promise<A> => {
  if (!isForPrograms(session)) return answer;
  const data: object[] = [];
  for (let at = 0; at < clusters.length; at += READS_MAX)
    data.push(...(await Promise.all(clusters.slice(at, at + READS_MAX).map((one) => documentOf(session, one)))));
  return { ...answer, data };
};
