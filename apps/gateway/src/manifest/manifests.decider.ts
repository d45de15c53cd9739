import {
  addedControlPlanes,
  additionsOf,
  changedFields,
  changeFaults,
  clusterSpecOf,
  declaredAfter,
  isRefusal,
  planOf,
  refuse,
  removalsOf,
  type ClusterName,
  type ClusterUid,
  type Declared,
  type DeclaredSpec,
  type Fact,
  type NodeName,
  type PlanStep,
  type PoolMember,
  type Refusal,
} from '@fairlead/contracts';
import { nothing, type Command, type Decider } from '@fairlead/event-sourcing';
import { busy, clusters, type ClusterState } from '../clusters/clusters.decider.js';
import { sameJson } from '../common/json.js';

interface Named {
  readonly namespace: string;
  readonly cluster: ClusterName;
}

/** Changes nothing: its outcome is the state as the log has it. */
export type ReadManifest = Command<'ReadManifest', Named>;
export type ApplyManifest = Command<
  'ApplyManifest',
  Named & {
    readonly spec: DeclaredSpec;
    /** What the caller was shown, or would be: it is carried out as it is, or not at all. */
    readonly plan: readonly PlanStep[];
    /** `Declared.seq` that the spec was made from; undefined: there was no such cluster. */
    readonly seenSeq: number | undefined;
    /** Everything is decided, and nothing recorded. */
    readonly dryRun: boolean;
    /** Of a new cluster. */
    readonly uid: ClusterUid;
    /** Of the machines that are added, and of a new cluster. */
    readonly requestId: string;
    readonly requestHash: string;
    readonly actor: string;
    /** Why connections cannot be used, or have no room. */
    readonly connectionFaults: readonly Refusal[];
  }
>;
export type ManifestCommand = ReadManifest | ApplyManifest;

export interface ManifestState {
  readonly cluster: ClusterState;
  readonly declared: Declared | undefined;
}

type ManifestFact = Fact<'ClusterRequested' | 'ClusterSpecChanged' | 'NodesRequested' | 'NodeRemovalRequested'>;

/** The nodes that control plane and pools count, in the order in which they were planned. */
export const poolMembers = ({ cluster, declared }: ManifestState): readonly PoolMember[] => {
  if (cluster.status === 'absent' || declared === undefined) return [];
  return Object.entries(declared.nodes).flatMap(([name, pool]) => {
    const member = cluster.members.get(name);
    return [{ name, pool, ready: member?.ready === true && !member.lost }];
  });
};

/** What has to be done so that the cluster is as declared. */
export const planFor = (state: ManifestState, spec: DeclaredSpec): readonly PlanStep[] =>
  isDeclared(state, spec) ? [] : planOf(state.declared?.spec, spec, poolMembers(state));

/** The order of pools means nothing. */
export const isDeclared = ({ declared }: ManifestState, spec: DeclaredSpec): boolean =>
  declared !== undefined && changedFields(declared.spec, spec).length === 0;

const create = ({ cluster }: ManifestState, { data }: ApplyManifest): readonly ManifestFact[] | Refusal => {
  const { namespace, cluster: name, uid, spec, requestHash, actor, connectionFaults } = data;
  const requested = clusters.decide(cluster, {
    type: 'RequestCluster',
    data: { namespace, cluster: name, uid, spec: clusterSpecOf(name, spec), requestHash, actor, connectionFaults },
  });
  if (isRefusal(requested)) return requested;
  return [...(requested as readonly ManifestFact[]), { type: 'ClusterSpecChanged', data: { uid, revision: 1, spec } }];
};

/** What the routes for nodes would request, by the same rules. Removals come first: nodes may be added while others leave. */
const nodeFacts = ({ cluster }: ManifestState, { data }: ApplyManifest): readonly ManifestFact[] | Refusal => {
  const { namespace, cluster: name, plan, spec, requestId, connectionFaults } = data;
  const leaving = removalsOf(plan) as readonly NodeName[];
  const removals = leaving.map((node, at) =>
    clusters.decide(cluster, {
      type: 'RemoveNode',
      data: { namespace, cluster: name, node, after: leaving.slice(0, at) },
    }),
  );
  const workers = additionsOf(plan, spec);
  const controlPlane = addedControlPlanes(plan, spec);
  const additions =
    workers.length === 0 && controlPlane === undefined
      ? nothing
      : clusters.decide(cluster, {
          type: 'RequestNodes',
          data: { namespace, cluster: name, requestId, workers, controlPlane, connectionFaults },
        });
  const outcomes = [...removals, additions];
  return outcomes.find(isRefusal) ?? (outcomes.flat() as readonly ManifestFact[]);
};

/** What changes, whether it may, and what has to be done for it. */
const change = (
  state: ManifestState,
  declared: Declared,
  command: ApplyManifest,
): readonly ManifestFact[] | Refusal => {
  const { cluster } = state;
  const { data } = command;
  if (cluster.status === 'absent') throw new Error('a cluster that is declared is present');
  if (isDeclared(state, data.spec)) return nothing;
  const [fault] = changeFaults(data.cluster, declared.spec, data.spec);
  if (fault !== undefined) return fault;
  if (cluster.phase !== 'Provisioned')
    return refuse('cluster.not-ready', { action: 'apply a manifest', phase: cluster.phase });
  const hindrance = busy(cluster, data, 'apply a manifest');
  if (hindrance !== undefined) return hindrance;
  const facts = nodeFacts(state, command);
  if (isRefusal(facts)) return facts;
  const { uid, revision } = declared;
  return [...facts, { type: 'ClusterSpecChanged', data: { uid, revision: revision + 1, spec: data.spec } }];
};

const apply = (state: ManifestState, command: ApplyManifest): readonly ManifestFact[] | Refusal => {
  const { cluster: name, namespace, seenSeq, spec, plan, dryRun } = command.data;
  const { cluster, declared } = state;
  if (cluster.status === 'present' && cluster.phase === 'Deleting')
    return refuse('cluster.deleting', { cluster: name });
  if (seenSeq !== declared?.seq || !sameJson(plan, planFor(state, spec)))
    return refuse('conflict.concurrent', { what: `${namespace}/${name}` });
  const facts = declared === undefined ? create(state, command) : change(state, declared, command);
  return dryRun && !isRefusal(facts) ? nothing : facts;
};

/**
 * What people declare of a cluster. A change is requested by the same facts as through the routes for clusters and nodes, and
 * by the same rules; the spec itself is the last fact of the decision, so that what was declared is what stands at its end.
 */
export const manifests: Decider<ManifestState, ManifestCommand, ManifestFact> = {
  initial: { cluster: clusters.initial, declared: undefined },
  reads: 'cluster',
  decide: (state, command) => (command.type === 'ReadManifest' ? nothing : apply(state, command)),
  evolve: ({ cluster, declared }, event) => ({
    cluster: clusters.evolve(cluster, event),
    declared: declaredAfter(declared, event),
  }),
};
