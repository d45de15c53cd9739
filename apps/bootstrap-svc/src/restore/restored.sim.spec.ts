import { ExternalFailure, type DeclaredSpec, type Fact, type NodeName, type Oidc } from '@fairlead/contracts';
import { stored } from '@fairlead/event-sourcing/spec';
import type { NodeMetadataChange } from '@fairlead/kubernetes';
import { seededRandom } from '@fairlead/testing';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { AddonsEffects } from '../addons/addons.effects.js';
import { AuthenticationEffects } from '../authentication/authentication.effects.js';
import { bootstrap } from '../bootstrap/bootstrap.decider.js';
import { cp, desired, UID, w, wholeCluster } from '../bootstrap/bootstrap.fixtures.js';
import { plan, type PlannedTask } from '../bootstrap/bootstrap.planner.js';
import { ABSENT, type Bootstrap } from '../bootstrap/bootstrap.state.js';
import type { RunningTask } from '../bootstrap/running.task.js';
import { LabelsEffects } from '../joins/labels.effects.js';
import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import { DeclaredEffects } from './declared.effects.js';

const SEEDS = 60;
const CHANGES_MAX = 12;
const ROLES = ['cluster-admin', 'view', 'edit'];
const GROUPS = ['contractors', 'developers', 'platform'];
const LABELS = ['tier', 'zone', 'disk'];
const VERSIONS = ['v1.34.4', 'v1.35.4', 'v1.36.3'];
const WORKERS: readonly NodeName[] = [w(1), w(2)];
const NODES: readonly NodeName[] = [cp(1), cp(2), cp(3), ...WORKERS];
/** Rounds in which every desired step is tried once. */
const ROUNDS_MAX = 20;

/** The declared objects in a snapshot of etcd. */
interface Objects {
  readonly bindings: Map<string, readonly string[]>;
  readonly labels: Map<string, Record<string, string>>;
  readonly taints: Map<string, readonly string[]>;
  readonly images: Map<string, string>;
  /** The cordoned nodes, with the mark of each cordon. */
  readonly cordoned: Map<string, string>;
  /** Its nodes: a worker may have joined since. */
  readonly registered: Set<string>;
  /** Nodes with the label that contains the cluster's name. */
  readonly ofCluster: Set<string>;
  kubeadm: string;
}

const copyOf = (objects: Objects): Objects => structuredClone(objects);

/** The fields of an object that are read, by kind. */
interface Applied {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly subjects: readonly { readonly name: string }[];
  readonly data: { readonly ClusterConfiguration: string };
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly [{ readonly image: string }] } };
  };
}

/** The API of a cluster, with the calls for declared objects. */
class Api {
  constructor(public objects: Objects) {}

  private isThere = (node: string): boolean => this.objects.registered.has(node);

  /** As a kubelet after a restart: without the former labels, taints and cordon. */
  register(node: string): void {
    if (this.isThere(node)) return;
    this.objects.registered.add(node);
    const { labels, taints, cordoned, ofCluster } = this.objects;
    for (const lost of [labels, taints, cordoned, ofCluster]) lost.delete(node);
  }

  async apply(manifests: readonly Manifest[]): Promise<void> {
    for (const manifest of manifests) this.applyOne(manifest as unknown as Applied);
  }

  private applyOne({ kind, metadata: { name }, subjects, data, spec }: Applied): void {
    if (kind === 'ClusterRoleBinding')
      this.objects.bindings.set(
        name,
        subjects.map((subject) => subject.name),
      );
    if (kind === 'ConfigMap') this.objects.kubeadm = data.ClusterConfiguration;
    if (kind === 'DaemonSet' || kind === 'Deployment')
      this.objects.images.set(name, spec.template.spec.containers[0].image);
  }

  async setNodeMetadata(node: string, change: NodeMetadataChange): Promise<boolean> {
    if (!this.isThere(node)) return false;
    const kept = Object.entries(this.objects.labels.get(node) ?? {}).filter(
      ([key]) => !change.obsoleteLabels.includes(key),
    );
    this.objects.labels.set(node, { ...Object.fromEntries(kept), ...change.labels });
    const taints = (this.objects.taints.get(node) ?? []).filter((taint) => !change.obsoleteTaints.includes(taint));
    const added = change.taints.map(({ key, effect }) => `${key}:${effect}`);
    this.objects.taints.set(node, [...new Set([...taints, ...added])]);
    return true;
  }

  label = async (node: string): Promise<void> => void this.objects.ofCluster.add(node);
  untaint = async (): Promise<void> => undefined;
  cordon = async (node: string, mark: string): Promise<boolean | undefined> => {
    if (!this.isThere(node)) return undefined;
    if (!this.objects.cordoned.has(node)) this.objects.cordoned.set(node, mark);
    return this.objects.cordoned.get(node) === mark;
  };
  uncordon = async (node: string): Promise<void> => void this.objects.cordoned.delete(node);
  configMap = async () => ({ ClusterConfiguration: this.objects.kubeadm });
  workload = async () => ({ version: 'v1', desired: 1, ready: 1 });
  nodes = async () =>
    NODES.filter(this.isThere).map((name) => ({
      name,
      ready: true,
      message: '',
      kubeletVersion: '',
      cordonedBy: this.objects.cordoned.get(name) ?? null,
    }));
}

/** One cluster, its folded log, and the API of its tasks. */
class World {
  private state: Bootstrap = ABSENT;
  private sequence = 0;
  readonly api = new Api({
    bindings: new Map(),
    labels: new Map(),
    taints: new Map(),
    images: new Map(),
    cordoned: new Map(),
    registered: new Set(NODES),
    ofCluster: new Set(NODES),
    kubeadm: 'apiVersion: kubeadm.k8s.io/v1beta4\nkubernetesVersion: v1.34.4\n',
  });
  private readonly clusters = { of: async () => this.api } as never;
  private readonly labels = new LabelsEffects(this.clusters);
  private readonly users = new AuthenticationEffects({} as never, this.clusters);
  private readonly declared = new DeclaredEffects(this.clusters);
  private readonly addons = new AddonsEffects(this.clusters, {} as never);

  take(...facts: readonly Fact[]): void {
    for (const fact of facts) {
      this.sequence += 1;
      this.state = bootstrap.evolve(this.state, stored(fact, this.sequence));
    }
  }

  /** An operator requests it, and it is done. */
  takeCordon(cordon: boolean, nodes: readonly NodeName[], requestId: string): void {
    for (const node of nodes) {
      const mark = this.api.objects.cordoned.get(node);
      const about = { uid: UID, requestId, action: cordon ? 'cordon' : 'uncordon', node } as const;
      if (cordon) {
        if (mark === undefined) this.api.objects.cordoned.set(node, `action-${requestId}`);
        this.take({ type: 'NodeActionCordoned', data: { ...about, byRequest: mark === undefined } });
      } else if (mark !== undefined) {
        this.api.objects.cordoned.delete(node);
        this.take({ type: 'NodeActionUncordoned', data: { ...about, cordonedBy: mark.slice('action-'.length) } });
      }
    }
  }

  /** Whether the list of Nodes lacks the node by now. */
  look(node: NodeName): void {
    if (!this.api.objects.registered.has(node)) this.take({ type: 'NodeMissing', data: { uid: UID, node } });
  }

  /** Its host is on, and its kubelet registers it; the list of Nodes shows that later. */
  register(node: NodeName): void {
    if (this.api.objects.registered.has(node)) return;
    this.api.register(node);
    this.take({ type: 'NodeReturned', data: { uid: UID, node } });
  }

  /** Until nothing is desired any more of what goes through the API; the last words of what failed in the last round. */
  async settle(whileWaiting: (round: number) => void = () => undefined): Promise<readonly string[]> {
    let failed: readonly string[] = [];
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const due = plan(this.state).filter(({ step }) => step !== 'ConfigureAuthentication');
      if (due.length === 0) return [];
      failed = [];
      for (const operation of due) failed = [...failed, ...(await this.attempt(operation))];
      whileWaiting(round);
    }
    return failed;
  }

  private async attempt(operation: PlannedTask): Promise<readonly string[]> {
    try {
      const again = await this.run(operation);
      return again === undefined ? [] : [`${operation.step}: ${again.reason}`];
    } catch (error) {
      if (!(error instanceof ExternalFailure)) throw error;
      return [`${operation.step}: ${error.toCause().target}: ${error.message}`];
    }
  }

  private run(operation: PlannedTask): Promise<{ readonly reason: string } | void> {
    const record = async (outcome: Fact): Promise<void> => {
      const facts = bootstrap.decide(this.state, outcome as never);
      if (!Array.isArray(facts)) throw new Error(`${outcome.type} was refused`);
      this.take(...(facts as readonly Fact[]));
    };
    const data = 'node' in operation ? { node: operation.node } : {};
    const requeueAfter = (_waitMs: number, reason: string) => ({ reason });
    const step = { key: operation.step, data, state: this.state, record, requeueAfter } as unknown as RunningTask;
    switch (operation.step) {
      case 'SetNodeLabels':
        return this.labels.setNodeLabels(step);
      case 'AuthorizeUsers':
        return this.users.authorizeUsers(step);
      case 'ReapplyDeclared':
        return this.declared.reapplyDeclared(step) as Promise<{ readonly reason: string } | void>;
      case 'InstallStorage':
        return this.addons.installStorage(step);
      default:
        throw new Error(`${operation.step} is not of this world`);
    }
  }
}

interface Declaration {
  readonly roleBindings: Oidc['roleBindings'];
  readonly labels: Readonly<Record<string, string>>;
  readonly taints: readonly { readonly key: string; readonly value: string; readonly effect: 'NoSchedule' }[];
}

const some = <T>(random: () => number, of: readonly T[]): T[] => of.filter(() => random() < 0.5);

const anyDeclaration = (random: () => number): Declaration => ({
  roleBindings: some(random, ROLES).map((clusterRole) => ({ clusterRole, groups: some(random, GROUPS) })),
  labels: Object.fromEntries(some(random, LABELS).map((key) => [key, random() < 0.5 ? 'gold' : 'silver'])),
  taints: some(random, ['dedicated', 'gpu']).map((key) => ({ key, value: '', effect: 'NoSchedule' })),
});

const specChanged = ({ roleBindings, labels, taints }: Declaration): Fact => ({
  type: 'ClusterSpecChanged',
  data: {
    uid: UID,
    revision: 1,
    spec: {
      controlPlane: {},
      pools: [{ name: 'workers', labels, taints }],
      authentication: {
        oidc: {
          issuerUrl: 'https://id.example.org',
          clientId: 'kubernetes',
          usernameClaim: 'sub',
          usernamePrefix: 'oidc:',
          groupsClaim: 'groups',
          groupsPrefix: 'oidc:',
          roleBindings,
        },
      },
    } as unknown as DeclaredSpec,
  },
});

const upgradedTo = (version: string): readonly Fact[] =>
  NODES.map((node) => {
    const fact = desired(node) as Fact<'DesiredVersionsSet'>;
    return { ...fact, data: { ...fact.data, software: { ...fact.data.software, kubelet: version.slice(1) } } };
  });

const advanced = (step: 'place' | 'stop' | 'restore' | 'start' | 'verify' | 'refresh'): Fact => ({
  type: 'EtcdRestoreAdvanced',
  data: { uid: UID, requestId: 'r', step, cause: null },
});

const RESTORED: readonly Fact[] = [
  {
    type: 'EtcdRestoreStarted',
    data: {
      uid: UID,
      requestId: 'r',
      snapshot: 's',
      sha256: 'ab',
      bytes: 1,
      members: [{ node: cp(1) as NodeName, peerUrl: 'https://198.18.7.11:2380' }],
    },
  },
  ...(['place', 'stop', 'restore', 'start', 'verify', 'refresh'] as const).map(advanced),
  { type: 'EtcdRestored', data: { uid: UID, requestId: 'r', snapshot: 's' } },
];

/** With the file from the start, like new clusters. */
const wholeClusterWithFile = (): readonly Fact[] =>
  wholeCluster().map((fact) =>
    fact.type === 'ControlPlaneInitialized' || fact.type === 'ControlPlaneJoined'
      ? ({ ...fact, data: { ...fact.data, authentication: 0 } } as Fact)
      : fact,
  );

/** A history of declarations, cordons and upgrades with a snapshot at some point, and the last declaration. */
const anyHistory = async (
  random: () => number,
): Promise<{
  readonly world: World;
  readonly last: Declaration;
  readonly version: string;
  /** The state right before the restore. */
  readonly cordoned: ReadonlyMap<string, string>;
}> => {
  const world = new World();
  world.take(...wholeClusterWithFile());
  let last = anyDeclaration(random);
  let version = 0;
  let snapshot = copyOf(world.api.objects);
  const changes = 1 + Math.floor(random() * CHANGES_MAX);
  for (let change = 0; change < changes; change += 1) {
    last = anyDeclaration(random);
    world.take(specChanged(last));
    world.takeCordon(random() < 0.4, some(random, WORKERS), `r-${change}`);
    // A declaration may be replaced before it is applied.
    if (random() < 0.8) await world.settle();
    if (random() < 0.2 && version + 1 < VERSIONS.length) {
      version += 1;
      world.take(...upgradedTo(VERSIONS[version] ?? ''));
      // As after kubeadm's upgrade.
      world.api.objects.kubeadm = `apiVersion: kubeadm.k8s.io/v1beta4\nkubernetesVersion: ${VERSIONS[version]}\n`;
    }
    if (random() < 0.4) {
      snapshot = copyOf(world.api.objects);
      // During an upgrade, or during a removal that is cancelled later.
      const mark = ['u-1234567890', 'removal'][Math.floor(random() * 3)];
      if (mark !== undefined && !snapshot.cordoned.has(w(1))) snapshot.cordoned.set(w(1), mark);
      // The second worker has joined since.
      if (random() < 0.5) snapshot.registered.delete(w(2));
    }
  }
  await world.settle();
  const cordoned = new Map(world.api.objects.cordoned);
  world.api.objects = snapshot;
  world.take(...RESTORED);
  return { world, last, version: VERSIONS[version] ?? '', cordoned };
};

describe('after a restore of etcd', () => {
  it.each(Array.from({ length: SEEDS }, (_, seed) => seed + 1))(
    'everything declared is applied again, or reported (seed %i)',
    async (seed) => {
      const random = seededRandom(seed);
      const { world, last, version, cordoned: before } = await anyHistory(random);
      // A kubelet that was restarted registers its node sooner or later; one whose host is off does when it is on again.
      const registersIn = random() < 0.3 ? Number.POSITIVE_INFINITY : Math.floor(random() * 5);
      const looksIn = Math.floor(random() * 4);
      const waitsFor = await world.settle((round) => {
        if (round >= registersIn) world.register(w(2));
        if (round === looksIn) world.look(w(2));
      });
      expect(waitsFor).toEqual([]);
      world.register(w(2));
      expect(await world.settle()).toEqual([]);
      const { bindings, labels, taints, kubeadm, images, cordoned, ofCluster } = world.api.objects;
      for (const role of ROLES) {
        const groups = last.roleBindings?.find(({ clusterRole }) => clusterRole === role)?.groups ?? [];
        expect(bindings.get(`fairlead:oidc:${role}`) ?? []).toEqual(groups.map((group) => `oidc:${group}`));
      }
      for (const node of WORKERS) {
        expect(
          Object.fromEntries(Object.entries(labels.get(node) ?? {}).filter(([key]) => LABELS.includes(key))),
        ).toEqual(last.labels);
        expect((taints.get(node) ?? []).toSorted()).toEqual(
          last.taints.map(({ key }) => `${key}:NoSchedule`).toSorted(),
        );
      }
      expect(parse(kubeadm)).toEqual({ apiVersion: 'kubeadm.k8s.io/v1beta4', kubernetesVersion: version });
      expect(images.get('kube-proxy')).toBe(`registry.k8s.io/kube-proxy:${version}`);
      for (const node of WORKERS)
        expect([node, cordoned.get(node), ofCluster.has(node)]).toEqual([node, before.get(node), true]);
      expect(bindings.get('fairlead:operators')).toEqual(['fairlead:operators']);
    },
  );
});
