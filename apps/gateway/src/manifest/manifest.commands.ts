import {
  ClusterManifest,
  clusterSpecOf,
  CONTROL_PLANE_POOL,
  completeSpec,
  isRefusal,
  MANIFEST_API_VERSION,
  MANIFEST_KIND,
  refuse,
  scaleFaults,
  sizeFaults,
  specOfManifest,
  type ClusterSpec,
  type ClusterUid,
  type ConnectionName,
  type DeclaredPool,
  type DeclaredSpec,
  type ManifestPatch,
  type NodeName,
  type NodeSet,
  type PlanStep,
  type Refusal,
  type ScaleRequest,
  UpgradeRequest,
  unsignedHooks,
  unsignedSentence,
  type KubernetesRelease,
} from '@fairlead/contracts';
import {
  addedControlPlanes,
  additionsOf,
  controlPlaneRolloutFaults,
  controlPlaneSurgeOf,
  surgesOf,
  changeFaults,
  mergePatch,
  removalsOf,
  specBeforeUpgrade,
  type Declared,
  faultsOfManifest,
  offeredReleases,
  releaseFaults,
  issuerCertificateFaults,
  CONTROL_PLANE_FIELDS,
  newClusterFaults,
  poolFields,
  type Registered,
  versionFaults,
} from '@fairlead/domain';
import { HANDLE, type Decided, type Handle } from '@fairlead/event-sourcing/jetstream';
import { certificateFault } from '@fairlead/parsers/certificates';
import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { ClusterCommands, hashOfSpec, namespaceFaults } from '../clusters/clusters.commands.js';
import { apiAddressFaults } from '../clusters/api.address.rules.js';
import type { AskedMachines } from '../clusters/offered.specs.js';
import type { ClusterAddress } from '../common/cluster.address.js';
import { causeOf, type Caller } from '../http/caller.js';
import { clusterUnknown } from '../http/command.answers.js';
import { unwrap, RefusalError, throwIfRefused } from '../http/refusal.error.js';
import { parseBody } from '../http/validation.pipe.js';
import { TemplateChoices, type TemplateChoice } from '../templates/template.choice.js';
import { upgradeOrderOf } from '../upgrades/upgrades.commands.js';
import { ChangeChecks } from './change.checks.js';
import {
  stoppedCreationFault,
  isCorrection,
  isDeclared,
  manifests,
  planFor,
  type ManifestState,
} from './manifests.decider.js';

/** How often a change is planned again when the cluster has changed while it was planned. */
const PLANS_MAX = 5;

/** A change that was decided, or would be. */
export interface AppliedManifest {
  /** Of a dry run: as it is, without the change. */
  readonly decided: Decided<ManifestState>;
  readonly spec: DeclaredSpec;
  readonly labels: Declared['labels'];
  readonly plan: readonly PlanStep[];
  /** What is accepted and does not work as it is. */
  readonly warnings: readonly string[];
}

type Prepared = Pick<AppliedManifest, 'spec' | 'plan' | 'warnings'> & {
  readonly connectionFaults: readonly Refusal[];
  /** What the installation offers. */
  readonly releases: readonly KubernetesRelease[];
};

interface ApplyOptions {
  readonly caller: Caller;
  readonly dryRun: boolean;
}

/** A manifest that is applied, and which nodes are to leave by it. */
interface Wanted {
  readonly manifest: ClusterManifest;
  readonly named: readonly string[];
  /** The template that it was resolved from; absent: it has the one that the cluster has. */
  readonly choice?: TemplateChoice | undefined;
  /** No other node leaves by it. */
  readonly exactly?: boolean;
  /** The provider's id of the machine that becomes the node that is added by it. */
  readonly adopts?: string;
}

/** Another size of a pool, and which nodes leave by it. */
export interface PoolSize {
  readonly replicas: number;
  readonly remove: readonly string[];
}

/** Chooses the size from what is declared now; it may throw what is refused. */
export type ChooseSize = (pool: DeclaredPool, declared: Declared) => PoolSize;

type ManifestOf = (declared: Declared | undefined) => Wanted | Promise<Wanted>;

const METADATA = { apiVersion: MANIFEST_API_VERSION, kind: MANIFEST_KIND } as const;

/** Applies manifests: what changes is planned on the state in the log, and decided only if that is still the state. */
@Injectable()
export class ManifestCommands {
  constructor(
    @Inject(HANDLE) private readonly handle: Handle,
    @Inject(ClusterCommands) private readonly clusters: ClusterCommands,
    @Inject(ChangeChecks) private readonly checks: ChangeChecks,
    @Inject(TemplateChoices) private readonly templates: TemplateChoices,
  ) {}

  put(address: ClusterAddress, document: unknown, options: ApplyOptions): Promise<AppliedManifest> {
    const put: ManifestOf = async (declared) => {
      const resolved = await this.templates.resolve(address, { document, declared }, options.caller);
      const manifest = parseBody(ClusterManifest, resolved.document);
      throwIfRefused(sizeFaults(manifest.spec.pools, declared?.spec.pools));
      return { manifest, named: [], choice: resolved.choice };
    };
    return this.apply(address, put, options);
  }

  patch(address: ClusterAddress, patch: ManifestPatch, options: ApplyOptions): Promise<AppliedManifest> {
    const patched: ManifestOf = async (declared) => {
      if (declared === undefined) throw new RefusalError(clusterUnknown(address));
      const { cluster: name, namespace } = address;
      const { labels = {}, spec } = declared;
      const current = { ...METADATA, metadata: { name, namespace, labels }, spec };
      const document = mergePatch(current, patch);
      const resolved = await this.templates.resolve(address, { document, declared }, options.caller);
      const manifest = withoutRemoved(parseBody(ClusterManifest, resolved.document));
      throwIfRefused(sizeFaults(manifest.spec.pools, spec.pools));
      return { manifest, named: [], choice: resolved.choice };
    };
    return this.apply(address, patched, options);
  }

  scale(
    address: ClusterAddress & { readonly pool: string },
    { spec, metadata = {} }: ScaleRequest,
    options: ApplyOptions,
  ): Promise<AppliedManifest> {
    const { pool, cluster: name, namespace } = address;
    const { remove: named = [] } = spec;
    const scaled: ManifestOf = (declared) => {
      if (declared === undefined) throw new RefusalError(clusterUnknown(address));
      const { pools, controlPlane } = declared.spec;
      const manifestOf = (changed: DeclaredSpec): Wanted => ({
        manifest: { ...METADATA, metadata: { name, ...metadata }, spec: completeSpec(changed) },
        named,
      });
      if (pool === CONTROL_PLANE_POOL)
        return manifestOf({
          ...declared.spec,
          controlPlane: { ...controlPlane, replicas: sizeOf(spec, controlPlane.replicas) },
        });
      const scaledPool = pools.find((one) => one.name === pool);
      if (scaledPool === undefined) throw new RefusalError(refuse('pool.unknown', { namespace, cluster: name, pool }));
      const replicas = sizeOf(spec, scaledPool.replicas);
      throwIfRefused(scaleFaults(scaledPool, replicas));
      const scaledPools = pools.map((one) => (one.name === pool ? { ...one, replicas } : one));
      return manifestOf({ ...declared.spec, pools: scaledPools });
    };
    return this.apply(address, scaled, options);
  }

  /** Scales a pool relative to what is declared when it is decided. Exactly the nodes that are named leave it. */
  resize(
    address: ClusterAddress & { readonly pool: string },
    choose: ChooseSize,
    options: ApplyOptions,
  ): Promise<AppliedManifest> {
    const { pool, cluster, namespace } = address;
    const resized: ManifestOf = (declared) => {
      if (declared === undefined) throw new RefusalError(clusterUnknown(address));
      const before = declared.spec.pools.find(({ name }) => name === pool);
      if (before === undefined) throw new RefusalError(refuse('pool.unknown', { namespace, cluster, pool }));
      const { replicas, remove } = choose(before, declared);
      throwIfRefused(scaleFaults(before, replicas));
      const pools = declared.spec.pools.map((one) => (one.name === pool ? { ...one, replicas } : one));
      const spec = completeSpec({ ...declared.spec, pools });
      return { manifest: { ...METADATA, metadata: { name: cluster }, spec }, named: remove, exactly: true };
    };
    return this.apply(address, resized, options);
  }

  /** A pool grows by a machine that exists already. infra-svc checks whether it fits before anything is done with it. */
  adopt(
    address: ClusterAddress & { readonly pool: string },
    orphan: { readonly connection: ConnectionName; readonly id: string },
    caller: Caller,
  ): Promise<AppliedManifest> {
    const { pool, cluster, namespace } = address;
    const grown: ManifestOf = (declared) => {
      if (declared === undefined) throw new RefusalError(clusterUnknown(address));
      const before = declared.spec.pools.find(({ name }) => name === pool);
      if (before === undefined) throw new RefusalError(refuse('pool.unknown', { namespace, cluster, pool }));
      if (before.connection !== orphan.connection) throw new RefusalError(elsewhere(before, orphan));
      const replicas = before.replicas + 1;
      throwIfRefused(scaleFaults(before, replicas));
      const pools = declared.spec.pools.map((one) => (one.name === pool ? { ...one, replicas } : one));
      const spec = completeSpec({ ...declared.spec, pools });
      return { manifest: { ...METADATA, metadata: { name: cluster }, spec }, named: [], adopts: orphan.id };
    };
    return this.apply(address, grown, { caller, dryRun: false });
  }

  /** bootstrap-svc states whether it stays: its drain may end at the same moment. */
  async cancelRemoval(
    address: ClusterAddress & { readonly node: NodeName },
    reason: string,
    caller: Caller,
  ): Promise<Decided<ManifestState>> {
    const { namespace, cluster } = address;
    const stream = { namespace, cluster, context: 'request' };
    const command = { type: 'CancelRemoval', data: { ...address, reason } } as const;
    return unwrap(await this.handle(manifests, stream, command, causeOf(caller)));
  }

  private async apply(
    address: ClusterAddress,
    manifestOf: ManifestOf,
    options: ApplyOptions,
  ): Promise<AppliedManifest> {
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.tryApply(address, manifestOf, options);
      if (!isRefusal(outcome)) return outcome;
      if (outcome.code !== 'conflict.concurrent' || attempt === PLANS_MAX) throw new RefusalError(outcome);
    }
  }

  private async tryApply(
    address: ClusterAddress,
    manifestOf: ManifestOf,
    { caller, dryRun }: ApplyOptions,
  ): Promise<AppliedManifest | Refusal> {
    const { state, seq } = await this.read(address, caller);
    const { manifest, named, exactly = false, adopts, choice } = await manifestOf(state.declared);
    const { labels } = manifest.metadata;
    throwIfRefused([
      ...faultsOfManifest(manifest, address),
      ...issuerCertificateFaults(manifest.spec, certificateFault),
      ...staleness(state, manifest, address),
    ]);
    const { spec, plan, connectionFaults, warnings, releases } = await this.prepare(address, {
      state,
      manifest,
      named,
      caller,
    });
    if ((exactly || adopts !== undefined) && isCorrection(state, spec))
      throw new RefusalError(refuse('cluster.not-ready', { action: 'change a pool', phase: 'Failed' }));
    if (exactly && removalsOf(plan).some((node) => !named.includes(node)))
      throw new RefusalError(refuse('cluster.busy', { ...address, action: 'remove these nodes' }));
    if (adopts !== undefined && !isOneNode(plan))
      throw new RefusalError(refuse('cluster.busy', { ...address, action: 'adopt a machine' }));
    const outcome = await this.handle(
      manifests,
      { ...address, context: 'request' },
      {
        type: 'ApplyManifest',
        elsewhere: choice?.elsewhere,
        data: {
          ...address,
          spec,
          ...(choice === undefined ? {} : { template: choice.use }),
          plan,
          named,
          ...(adopts === undefined ? {} : { adopts }),
          ...(labels === undefined ? {} : { labels }),
          seen: state,
          dryRun,
          uid: randomUUID() as ClusterUid,
          requestId: caller.commandId ?? randomUUID(),
          requestHash: hashOfSpec(clusterSpecOf(address.cluster, spec)),
          actor: caller.identity.actor,
          connectionFaults,
          releases,
          upgrade: upgradeOrderOf(UpgradeRequest.parse({ version: spec.version }), caller),
        },
      },
      causeOf(caller),
    );
    if (isRefusal(outcome)) return outcome;
    const decided = { ...outcome, seq: Math.max(outcome.seq, seq) };
    return { decided, spec, labels: labels ?? state.declared?.labels, plan, warnings };
  }

  /** Everything that is wrong is said at once, before the decision; it checks what depends on the cluster again. */
  private async prepare(
    { namespace, cluster }: ClusterAddress,
    { state, manifest, named, caller }: Wanted & { readonly state: ManifestState; readonly caller: Caller },
  ): Promise<Prepared> {
    const [known, own] = await Promise.all([this.clusters.registered(), this.clusters.ownReleases()]);
    const releases = offeredReleases(own);
    const { declared } = state;
    const refuseUnlessNew = (): void => {
      throwIfRefused([
        ...newClusterFaults(manifest, namespaceFaults(known, namespace), own),
        ...controlPlaneRolloutFaults(manifest.spec),
      ]);
    };
    if (declared === undefined) refuseUnlessNew();
    else throwIfRefused(versionFaults(manifest.spec));
    const spec = specOfManifest(manifest.spec, declared?.spec);
    const corrects = isCorrection(state, spec);
    if (corrects) refuseUnlessNew();
    const isNew = declared === undefined || corrects;
    const plan = planFor(state, spec, named, releases);
    const { hookSecrets = [] } = known.namespaces.get(namespace) ?? {};
    const warnings = unsignedHooks(spec.hooks ?? [], hookSecrets).map(unsignedSentence);
    if (isDeclared(state, spec)) return { spec, plan, connectionFaults: [], warnings, releases };
    if (!isNew) {
      const stopped = stoppedCreationFault(state, spec, { cluster });
      const before = specBeforeUpgrade(declared);
      throwIfRefused(stopped === undefined ? changeFaults(before, spec, releases) : [stopped]);
      if (spec.version !== before.version) throwIfRefused(releaseFaults(spec.version, own, 'spec.version'));
    }
    const change = { before: isNew ? undefined : declared.spec, after: spec };
    throwIfRefused(await this.checks.faults({ namespace, cluster }, change, known));
    const machineFaults = await this.clusters.machineFaults(
      known,
      { namespace, identity: caller.identity, isNew, ...(corrects ? { uid: declared?.uid } : {}) },
      isNew ? machinesOf(clusterSpecOf(cluster, spec), spec) : machinesAdded(plan, spec),
    );
    const connectionFaults = [...machineFaults, ...(isNew ? addressFaults(known, spec) : [])];
    return { spec, plan, connectionFaults, warnings, releases };
  }

  /** As the log has it; undefined: there is no such cluster. */
  async declared(
    address: ClusterAddress,
    caller: Pick<Caller, 'identity' | 'requestId'>,
  ): Promise<Declared | undefined> {
    const { state } = await this.read(address, caller);
    return state.declared;
  }

  /** As the log has it. It is no part of the command, so that a repetition of that reads again. */
  private async read(
    address: ClusterAddress,
    { identity, requestId }: Pick<Caller, 'identity' | 'requestId'>,
  ): Promise<Decided<ManifestState>> {
    const stream = { ...address, context: 'request' };
    const command = { type: 'ReadManifest', data: address } as const;
    return unwrap(await this.handle(manifests, stream, command, causeOf({ identity, requestId })));
  }
}

const ofControlPlane = (set: NodeSet): AskedMachines => ({ set, fields: CONTROL_PLANE_FIELDS });

const ofPool =
  ({ pools }: DeclaredSpec) =>
  (set: NodeSet): AskedMachines => ({
    set,
    fields: poolFields(pools.findIndex(({ name }) => name === set.pool)),
  });

const addressFaults = (known: Registered, { controlPlane: { connection, replicas } }: DeclaredSpec) =>
  apiAddressFaults(known, { connection, count: replicas }, CONTROL_PLANE_FIELDS);

/** The machines of a new cluster. */
const machinesOf = ({ controlPlane, workers }: ClusterSpec, spec: DeclaredSpec): readonly AskedMachines[] => [
  ofControlPlane(controlPlane),
  ...workers.map(ofPool(spec)),
];

/** The machines by which a cluster grows, those of a surge included. */
const machinesAdded = (plan: readonly PlanStep[], spec: DeclaredSpec): readonly AskedMachines[] => {
  const controlPlanes = [addedControlPlanes(plan, spec), controlPlaneSurgeOf(plan, spec)];
  return [
    ...[...additionsOf(plan, spec), ...surgesOf(plan, spec)].map(ofPool(spec)),
    ...controlPlanes.filter((set) => set !== undefined).map(ofControlPlane),
  ];
};

/** A manifest that leaves these out leaves them as they are; a patch that removes them does not. */
const withoutRemoved = ({ metadata, spec, ...others }: ClusterManifest): ClusterManifest => ({
  ...others,
  metadata: { ...metadata, labels: metadata.labels ?? {} },
  spec: { ...spec, paused: spec.paused ?? false },
});

const elsewhere = (
  { name: pool, connection }: DeclaredPool,
  orphan: { readonly connection: ConnectionName; readonly id: string },
): Refusal =>
  refuse('connection.orphan-unfit', {
    ...{ connection: orphan.connection, orphan: orphan.id, pool },
    detail: `the machines of the pool are of connection ${connection}`,
  });

/** The size that a request asks for, of a pool that has one. */
const sizeOf = ({ replicas, add = 0 }: ScaleRequest['spec'], now: number): number => replicas ?? now + add;

/** A machine is adopted when nothing else has to be done. */
const isOneNode = ([step, ...others]: readonly PlanStep[]): boolean =>
  step?.action === 'add-nodes' && step.count === 1 && others.length === 0;

/** Why the manifest is not about the cluster as it is. */
const staleness = (
  { declared }: ManifestState,
  { metadata: { resourceVersion, uid } }: ClusterManifest,
  address: ClusterAddress,
): readonly Refusal[] => {
  const { cluster } = address;
  if (declared === undefined)
    return (resourceVersion ?? '') === '' && uid === undefined ? [] : [clusterUnknown(address)];
  if (resourceVersion === '') return [refuse('cluster.name-taken', { ...address }, 'metadata.resourceVersion')];
  const current = String(declared.seq);
  return [
    ...(uid === undefined || uid === declared.uid
      ? []
      : [refuse('cluster.uid-mismatch', { cluster, current: declared.uid, given: uid }, 'metadata.uid')]),
    ...(resourceVersion === undefined || resourceVersion === current
      ? []
      : [refuse('cluster.resource-version', { cluster, current, given: resourceVersion }, 'metadata.resourceVersion')]),
  ];
};
