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

/** The versions on each node at one point of a plan: the only input of rules A. */
export interface NodeVersions {
  readonly name: NodeName;
  readonly role: NodeRole;
  readonly kubelet: string;
  readonly kubeProxy: string | null;
  /** Only for control planes. */
  readonly apiServer: string | null;
  readonly controllerManager: string | null;
  readonly scheduler: string | null;
  /** Its kubelet uses only the API server of its own node. */
  readonly kubeletTalksToLocalApi: boolean;
}
export type Versions = readonly NodeVersions[];

/** null: not a valid version, so it is excluded from the skew. */
const known = (version: string | null | undefined): string | null =>
  version !== null && version !== undefined && parseVersion(version) !== undefined ? version : null;

/** Nodes whose kubelet has reported a version; B2 reports the others. */
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

/** A1, the state: all API servers are within one minor. */
export const a1ApiServersWithinOneMinor = (versions: Versions): readonly Finding[] => {
  const [low, high] = [oldestVersion(apiServers(versions)), newestVersion(apiServers(versions))];
  if (low === undefined || high === undefined) return [];
  return when(minorsAhead(low, high) > 1, () => finding('A1.apart', { oldest: low, newest: high }));
};

/** A1, the path: no step skips a minor or goes back to a lower one. */
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

/** A2: no kubelet is newer than the oldest API server that it can reach, or more than three minors older than any. */
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

/** A2: the same limits for kube-proxy, and within three minors of its kubelet. */
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

/**
 * A3: controller manager and scheduler (kubeadm points them to the API server of their own node) are never newer, and
 * at most one minor older.
 */
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

/** All rules A for one state. */
export const skewFindings = (versions: Versions): readonly Finding[] => [
  ...a1ApiServersWithinOneMinor(versions),
  ...a2KubeletSkew(versions),
  ...a2KubeProxySkew(versions),
  ...a3ControllersSkew(versions),
];

export interface Path {
  /** Starts with the current version. */
  readonly versions: readonly string[];
  readonly findings: readonly Finding[];
}

/** A4: an obstacle on the path to the target is a finding. */
export const a4Path = (present: string, target: string, releases: readonly KubernetesRelease[]): Path => {
  const { versions, obstacle } = versionPath(present, target, releases);
  if (obstacle === undefined) return { versions, findings: [] };
  if (obstacle.kind === 'lower') return { versions, findings: a1NoMinorSkipped(present, target) };
  return { versions, findings: [a4MinorUnknown(present, target, obstacle.missing)] };
};

/**
 * A4, for a partly upgraded cluster: no step downgrades the newest API server. A patch of a minor below it is skipped;
 * in its own minor, the step leads to its patch.
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

/** A5: kubeadm is upgraded to the target of its step before it runs; any other plan is rejected. */
export const a5KubeadmAtTarget = (operation: PlanOperation): readonly Finding[] => {
  const { change, to, id, node } = operation;
  if (change === null || change.kubeadm === null || change.kubernetes === null) return [];
  const desired = change.kubernetes.slice(1);
  // Packages missing in `to` are already installed.
  const kubeadm = to['kubeadm'] ?? desired;
  return when(kubeadm !== desired, () =>
    finding('A5.kubeadm', { operation: id, kubeadm, kubernetes: desired }, { node: String(node) }),
  );
};

const proxied = (node: NodeVersions, version: string): NodeVersions => ({
  ...node,
  kubeProxy: node.kubeProxy === null ? null : version,
});

/** From this version on, kubeadm points the kubelet of a new control plane to its own API server by default. */
const LOCAL_KUBELETS_SINCE = '1.33.0';

/** A new node has all parts of its version at once. */
const replacedOneByOne = (versions: Versions, { nodes, to }: PlanOperation): readonly Versions[] => {
  const kubelet = to['kubelet'];
  if (kubelet === undefined) return [];
  const kubeletTalksToLocalApi = compareVersions(kubelet, LOCAL_KUBELETS_SINCE) >= 0;
  const components = { apiServer: kubelet, controllerManager: kubelet, scheduler: kubelet, kubeletTalksToLocalApi };
  const states: Versions[] = [];
  for (const name of nodes) {
    const before = states.at(-1) ?? versions;
    states.push(
      before.map((one) =>
        one.name === name ? { ...one, kubelet, ...(one.role === 'control-plane' ? components : {}) } : one,
      ),
    );
  }
  return states;
};

/**
 * The states of the cluster during an operation, the last one being its end. kubeadm upgrades the API server, then the
 * controller manager, then the scheduler; the kubelet is last. kube-proxy on all nodes follows the last control plane
 * (kubeadm's addon phase).
 */
export const statesOf = (versions: Versions, operation: PlanOperation): readonly Versions[] => {
  const { change, node, role, kind } = operation;
  if (kind === 'addons') {
    const version = operation.to['kube-proxy'];
    return version === undefined ? [] : [versions.map((one) => proxied(one, version))];
  }
  if (kind === 'replace') return replacedOneByOne(versions, operation);
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
 * A6: the skew holds in every intermediate state of the plan, not only at its end. Reported once per rule and node,
 * with the first operation that would violate it.
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

/** A6: a kubelet that is already at its limit blocks a newer API server. */
export const a6NoKubeletAtTheLimit = (versions: Versions, leftBehind: readonly NodeName[]): readonly Finding[] => {
  const api = newestVersion(apiServers(versions));
  if (api === undefined) return [];
  return versions
    .filter(({ name, kubelet }) => leftBehind.includes(name) && minorsAhead(kubelet, api) >= kubeletLagMax(kubelet))
    .map(({ name, kubelet }) => finding('A6.at-the-limit', { node: name, kubelet, apiServer: api }));
};
