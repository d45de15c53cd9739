import {
  compareVersions,
  type Finding,
  type KubernetesRelease,
  minorsAhead,
  newestVersion,
  type NodeName,
  type NodeRole,
  oldestVersion,
  parseVersion,
  type PlanOperation,
} from '@fairlead/contracts';
import { versionPath } from '@fairlead/domain';
import type { ClusterFacts } from './cluster.facts.js';
import { finding, when } from './finding.js';

/** Which versions run where, at one moment of a plan. Rules A are about nothing else. */
export interface NodeVersions {
  readonly name: NodeName;
  readonly role: NodeRole;
  readonly kubelet: string;
  readonly kubeProxy: string | null;
  /** Of control planes. */
  readonly apiServer: string | null;
  readonly controllerManager: string | null;
  readonly scheduler: string | null;
  /** Its kubelet asks the API server of its own node and no other. */
  readonly kubeletTalksToLocalApi: boolean;
}
export type Versions = readonly NodeVersions[];

/** null: what was found is no version, so it says nothing about the skew. */
const known = (version: string | null | undefined): string | null =>
  version !== null && version !== undefined && parseVersion(version) !== undefined ? version : null;

/** Nodes whose kubelet has reported a version; the others are findings of B2. */
export const versionsIn = (facts: Pick<ClusterFacts, 'nodes'>): Versions =>
  facts.nodes.flatMap((node) => {
    const of = (component: string): string | null =>
      known(node.staticPods.find((pod) => pod.component === component)?.version);
    const kubelet = known(node.kubelet);
    if (kubelet === null) return [];
    const one: NodeVersions = {
      name: node.name,
      role: node.role,
      kubelet,
      kubeProxy: known(node.kubeProxy),
      apiServer: of('kube-apiserver'),
      controllerManager: of('kube-controller-manager'),
      scheduler: of('kube-scheduler'),
      kubeletTalksToLocalApi: node.kubeletTalksToLocalApi === true,
    };
    return [one];
  });

const apiServers = (versions: Versions): readonly string[] =>
  versions.flatMap(({ apiServer }) => (apiServer === null ? [] : [apiServer]));

export const oldestApiServer = (versions: Versions): string | undefined => oldestVersion(apiServers(versions));
export const newestApiServer = (versions: Versions): string | undefined => newestVersion(apiServers(versions));

/** A kubelet before 1.25 may be two minors older than the API server, later ones three (version skew policy). */
export const kubeletLagMax = (kubelet: string): number => (compareVersions(kubelet, '1.25.0') < 0 ? 2 : 3);

/** A1, the state: API servers stay within one minor of each other. */
export const a1ApiServersWithinOneMinor = (versions: Versions): readonly Finding[] => {
  const [low, high] = [oldestVersion(apiServers(versions)), newestVersion(apiServers(versions))];
  if (low === undefined || high === undefined) return [];
  return when(minorsAhead(low, high) > 1, () => finding('A1.apart', { oldest: low, newest: high }));
};

/** A1, the way: no step skips a minor, none goes back over one. */
export const a1NoMinorSkipped = (from: string, to: string): readonly Finding[] => {
  const ahead = minorsAhead(from, to);
  return when(ahead < 0 || ahead > 1, () => finding(ahead < 0 ? 'A1.lower' : 'A1.skips', { from, to, minors: ahead }));
};

const kubeletReaches = (node: NodeVersions, versions: Versions): string | undefined =>
  node.kubeletTalksToLocalApi && node.apiServer !== null ? node.apiServer : oldestApiServer(versions);

const tooNew = (what: string, node: NodeVersions, version: string, api: string): Finding =>
  finding('A2.too-new', { node: node.name, version, apiServer: api }, { component: what });

const tooOld = (what: string, node: NodeVersions, version: string, api: string): Finding =>
  finding(
    'A2.too-old',
    { node: node.name, version, apiServer: api, minorsMax: kubeletLagMax(version) },
    { component: what, minors: minorsAhead(version, api) },
  );

const newerThan = (version: string, api: string): boolean => minorsAhead(api, version) > 0;

/** A2: no kubelet is newer than the oldest API server it can reach, nor more than three minors older than any. */
export const a2KubeletSkew = (versions: Versions): readonly Finding[] => {
  const high = newestVersion(apiServers(versions));
  return versions.flatMap((node) => {
    const api = kubeletReaches(node, versions);
    if (api === undefined || high === undefined) return [];
    return [
      ...when(newerThan(node.kubelet, api), () => tooNew('kubelet', node, node.kubelet, api)),
      ...when(minorsAhead(node.kubelet, high) > kubeletLagMax(node.kubelet), () =>
        tooOld('kubelet', node, node.kubelet, high),
      ),
    ];
  });
};

/** A2: the same bounds for kube-proxy, and within three minors of its kubelet. */
export const a2KubeProxySkew = (versions: Versions): readonly Finding[] => {
  const [low, high] = [oldestApiServer(versions), newestVersion(apiServers(versions))];
  return versions.flatMap((node) => {
    const { kubeProxy } = node;
    if (kubeProxy === null || low === undefined || high === undefined) return [];
    return [
      ...when(newerThan(kubeProxy, low), () => tooNew('kube-proxy', node, kubeProxy, low)),
      ...when(minorsAhead(kubeProxy, high) > kubeletLagMax(kubeProxy), () =>
        tooOld('kube-proxy', node, kubeProxy, high),
      ),
      ...when(Math.abs(minorsAhead(kubeProxy, node.kubelet)) > kubeletLagMax(kubeProxy), () =>
        tooOld('kube-proxy', node, kubeProxy, node.kubelet),
      ),
    ];
  });
};

/** A3: controller manager and scheduler (kubeadm points them at the API server of their own node) are never newer, at most one older. */
export const a3ControllersSkew = (versions: Versions): readonly Finding[] =>
  versions.flatMap(({ name, apiServer, controllerManager, scheduler }) =>
    [['controller manager', controllerManager] as const, ['scheduler', scheduler] as const].flatMap(
      ([what, version]) => {
        if (apiServer === null || version === null) return [];
        const ahead = minorsAhead(apiServer, version);
        return when(ahead > 0 || ahead < -1, () =>
          finding('A3.skew', { node: name, version, apiServer }, { component: what }),
        );
      },
    ),
  );

/** Every rule of A about one state. */
export const skewFindings = (versions: Versions): readonly Finding[] => [
  ...a1ApiServersWithinOneMinor(versions),
  ...a2KubeletSkew(versions),
  ...a2KubeProxySkew(versions),
  ...a3ControllersSkew(versions),
];

export interface Path {
  /** The present version first. */
  readonly versions: readonly string[];
  readonly findings: readonly Finding[];
}

/** A4: what keeps a target from being reached is a finding. */
export const a4Path = (present: string, target: string, releases: readonly KubernetesRelease[]): Path => {
  const { versions, obstacle } = versionPath(present, target, releases);
  if (obstacle === undefined) return { versions, findings: [] };
  if (obstacle.kind === 'lower') return { versions, findings: a1NoMinorSkipped(present, target) };
  return { versions, findings: [a4MinorUnknown(present, target, obstacle.missing)] };
};

/**
 * A4, of a cluster that is partly upgraded: no step takes the API server that is ahead back. A patch of the minor that it has left is passed
 * over; in its own minor, the step goes to its patch.
 */
export const a4NeverBack = (path: Path, newest: string, releases: readonly KubernetesRelease[]): Path => {
  const last = path.versions.length - 1;
  const isKnown = releases.some(({ version }) => version === newest);
  const versions = path.versions.flatMap((version, index) => {
    if (index === 0 || index === last || compareVersions(version, newest) >= 0) return [version];
    if (minorsAhead(version, newest) > 0) return [];
    return [isKnown ? newest : version];
  });
  return { ...path, versions };
};

const a4MinorUnknown = (from: string, to: string, missing: string): Finding =>
  finding('A4.minor-unknown', { from, to, missing });

/** A5: kubeadm is brought to the target of its step before it is run; a plan that says otherwise is refused. */
export const a5KubeadmAtTarget = (operation: PlanOperation): readonly Finding[] => {
  const { change, to, id, node } = operation;
  if (change === null || change.kubeadm === null || change.kubernetes === null) return [];
  const desired = change.kubernetes.slice(1);
  // What is not in `to` is there already.
  const kubeadm = to['kubeadm'] ?? desired;
  return when(kubeadm !== desired, () =>
    finding('A5.kubeadm', { operation: id, kubeadm, kubernetes: desired }, { node: String(node) }),
  );
};

const proxied = (node: NodeVersions, version: string): NodeVersions => ({
  ...node,
  kubeProxy: node.kubeProxy === null ? null : version,
});

/**
 * The states that the cluster goes through while an operation is done, the last one being its end. kubeadm exchanges the API
 * server, then the controller manager, then the scheduler; the kubelet comes last. kube-proxy of all nodes follows the last
 * control plane (kubeadm's addon phase).
 */
export const statesOf = (versions: Versions, operation: PlanOperation): readonly Versions[] => {
  const { change, node, role, kind } = operation;
  if (kind === 'addons') {
    const version = operation.to['kube-proxy'];
    return version === undefined ? [] : [versions.map((one) => proxied(one, version))];
  }
  if (node === null) return [];
  const version = change?.kubernetes?.slice(1);
  const components = role === 'control-plane' && change?.kubeadm !== null && version !== undefined;
  const steps: readonly Partial<NodeVersions>[] = [
    ...(components ? [{ apiServer: version }, { controllerManager: version }, { scheduler: version }] : []),
    ...(operation.to['kubelet'] === undefined ? [] : [{ kubelet: operation.to['kubelet'] }]),
  ];
  const states: Versions[] = [];
  for (const step of steps) {
    const before = states.at(-1) ?? versions;
    states.push(before.map((one) => (one.name === node ? { ...one, ...step } : one)));
  }
  return states;
};

export const after = (versions: Versions, operations: readonly PlanOperation[]): Versions =>
  operations.reduce((before, operation) => statesOf(before, operation).at(-1) ?? before, versions);

/**
 * A6: the skew holds in every state that the plan goes through, not only at its end. Found once for each rule and node, with
 * the operation in which it would first break.
 */
export const a6SkewOnTheWay = (versions: Versions, operations: readonly PlanOperation[]): readonly Finding[] => {
  const before = new Set(skewFindings(versions).map(({ rule, facts }) => `${rule}/${String(facts['node'])}`));
  const stated = new Map<string, Finding>();
  let state = versions;
  for (const operation of operations) {
    for (const next of statesOf(state, operation)) {
      for (const finding of skewFindings(next)) {
        const key = `${finding.rule}/${String(finding.facts['node'])}`;
        if (before.has(key) || stated.has(key)) continue;
        stated.set(key, { ...finding, facts: { ...finding.facts, operation: operation.id, brokenBy: operation.node } });
      }
      state = next;
    }
  }
  return [...stated.values()];
};

/** A6: a kubelet that is as old as it may be already leaves no room for a newer API server. */
export const a6NoKubeletAtTheLimit = (versions: Versions, leftBehind: readonly NodeName[]): readonly Finding[] => {
  const api = newestVersion(apiServers(versions));
  if (api === undefined) return [];
  return versions
    .filter(({ name, kubelet }) => leftBehind.includes(name) && minorsAhead(kubelet, api) >= kubeletLagMax(kubelet))
    .map(({ name, kubelet }) => finding('A6.at-the-limit', { node: name, kubelet, apiServer: api }));
};
