import type { Finding, NodeName, UpgradeTarget } from '@fairlead/contracts';
import { releaseOf } from '@fairlead/contracts';
import type { BudgetFacts, ClusterFacts, EtcdFacts, EtcdMemberFacts, NodeFacts, PodFacts } from './cluster.facts.js';
import { asking, informing, refusing, when } from './finding.js';
import { compareVersions, isMinorChange, minorOf, minorsAhead, versionOf } from './versions.js';

/** What else is under way in the cluster, as the log tells. */
export interface UnderWay {
  /** Sentences: "demo-w-4 is joining", "another upgrade u-… runs". */
  readonly operations: readonly string[];
  readonly clusterReady: boolean;
}

/** B1: one operation at a time; upgrades and repairs never mix. */
export const b1OneOperation = ({ operations, clusterReady }: UnderWay): readonly Finding[] => [
  ...when(operations.length > 0, () =>
    refusing('B1', {
      sentence: `something else is under way: ${operations.join('; ')}`,
      facts: { operations },
      help: 'Wait until it has ended, or end it.',
    }),
  ),
  ...when(operations.length === 0 && !clusterReady, () =>
    refusing('B1', {
      sentence: 'the cluster is not Ready',
      facts: {},
      help: 'Bring it to Ready first ("fairlead cluster describe" tells what it waits for).',
    }),
  ),
];

/** B2 wants the cluster healthy so often in a row, ten seconds apart (kOps: --validate-count 2). */
export const HEALTHY_PASSES_MIN = 2;

/** B2: all nodes Ready or excused, all that runs for the cluster Ready, twice in a row. */
export const b2ClusterHealthy = (
  facts: Pick<ClusterFacts, 'nodes' | 'system' | 'healthyPasses'>,
  excused: readonly NodeName[],
): readonly Finding[] => {
  const sick = facts.nodes.filter((node) => (!node.ready || node.lost) && !excused.includes(node.name));
  const pods = facts.nodes.flatMap((node) =>
    node.staticPods.filter(({ ready }) => !ready).map(({ component }) => `${component} of ${node.name}`),
  );
  const systems = facts.system.filter(({ wanted, ready }) => ready < wanted).map(({ name }) => name);
  const unready = [...pods, ...systems];
  return [
    ...when(sick.length > 0, () =>
      refusing('B2', {
        sentence: `${sick.map(({ name, notReadyBecause }) => `${name} is not Ready (${notReadyBecause ?? 'no heartbeat'})`).join('; ')}`,
        facts: { nodes: sick.map(({ name }) => name) },
        help: 'Mend or remove them, or name them in strategy.excusedNodes.',
      }),
    ),
    ...when(unready.length > 0, () =>
      refusing('B2', {
        sentence: `not Ready: ${unready.join(', ')}`,
        facts: { unready },
        help: 'Mend what is not Ready in kube-system first.',
      }),
    ),
    ...when(sick.length + unready.length === 0 && facts.healthyPasses < HEALTHY_PASSES_MIN, () =>
      refusing('B2', {
        sentence: `the cluster was found healthy ${facts.healthyPasses} times in a row, not ${HEALTHY_PASSES_MIN}`,
        facts: { passes: facts.healthyPasses, passesMin: HEALTHY_PASSES_MIN },
        help: 'Something comes and goes; look at "fairlead events", and ask again.',
      }),
    ),
  ];
};

const DB_SHARE_MAX = 0.8;
/** Log entries; a member that follows the leader is a handful behind while requests come in. */
const BEHIND_MAX = 1_000;

const troubleOf = ({ started, healthy, learner, behind }: EtcdMemberFacts): string | undefined => {
  if (!started) return 'has not started';
  if (!healthy) return 'is not healthy';
  if (learner) return 'is still learning';
  if (behind > BEHIND_MAX) return `is ${behind} entries behind its leader`;
  return undefined;
};

const b3Refusal = (sentence: string, facts: Readonly<Record<string, unknown>>, help: string): Finding =>
  refusing('B3', { sentence, facts, help });

const b3Orphans = ({ members }: EtcdFacts, controlPlanes: readonly NodeName[]): readonly Finding[] => {
  const orphans = members.filter(({ node }) => node === null || !controlPlanes.includes(node)).map(({ name }) => name);
  const without = controlPlanes.filter((name) => !members.some(({ node }) => node === name));
  return [
    ...when(orphans.length > 0, () =>
      b3Refusal(
        `members of etcd without a control plane: ${orphans.join(', ')}`,
        { orphans },
        'Remove them from etcd ("etcdctl member remove"), after a look at what they were.',
      ),
    ),
    ...when(without.length > 0, () =>
      b3Refusal(
        `control planes without a member of etcd: ${without.join(', ')}`,
        { nodes: without },
        'Remove these nodes, or let them join again.',
      ),
    ),
  ];
};

/** B3: all members started, healthy, no learner, no alarm, same version, room in the database, not two of them, no orphans. */
export const b3EtcdHealthy = (facts: {
  readonly etcd: EtcdFacts | null;
  readonly nodes: readonly Pick<NodeFacts, 'name' | 'role'>[];
}): readonly Finding[] => {
  const { etcd } = facts;
  if (etcd === null) return [];
  const sick = etcd.members.flatMap((member) => {
    const trouble = troubleOf(member);
    return trouble === undefined ? [] : [`${member.name} ${trouble}`];
  });
  const versions = [...new Set(etcd.members.map(({ version }) => version))];
  const largest = Math.max(0, ...etcd.members.map(({ dbBytes }) => dbBytes));
  const share = largest / etcd.quotaBytes;
  const controlPlanes = facts.nodes.filter(({ role }) => role === 'control-plane').map(({ name }) => name);
  const alarms = etcd.alarms.map(({ alarm, member }) => `${alarm} on ${member}`);
  return [
    ...when(sick.length > 0, () => b3Refusal(`etcd: ${sick.join('; ')}`, { members: sick }, 'Mend etcd first.')),
    ...when(alarms.length > 0, () =>
      b3Refusal(
        `etcd has alarms: ${alarms.join(', ')}`,
        { alarms },
        'Mend their cause, then "etcdctl alarm disarm"; NOSPACE: compact and defragment.',
      ),
    ),
    ...when(versions.length > 1, () =>
      b3Refusal(`members of etcd run ${versions.join(' and ')}`, { versions }, 'End the upgrade of etcd that began.'),
    ),
    ...when(share > DB_SHARE_MAX, () =>
      b3Refusal(
        `etcd's data takes ${Math.round(share * 100)} % of its quota`,
        { dbBytes: largest, quotaBytes: etcd.quotaBytes, shareMax: DB_SHARE_MAX },
        'Compact and defragment etcd, or raise its quota.',
      ),
    ),
    ...when(etcd.members.length === 2, () =>
      b3Refusal(
        'etcd has two members: without either it stands still',
        { members: 2 },
        'Add a control plane, or remove one.',
      ),
    ),
    ...b3Orphans(etcd, controlPlanes),
  ];
};

export const SNAPSHOT_AGE_MAX_MS = 15 * 60_000;

/** B4: a snapshot younger than 15 minutes lies off the node. A plan that begins with taking one satisfies it. */
export const b4FreshSnapshot = (facts: ClusterFacts, planTakesOne: boolean): readonly Finding[] => {
  const age = facts.snapshot === null ? null : Date.parse(facts.at) - Date.parse(facts.snapshot.at);
  return when(!planTakesOne && (age === null || age > SNAPSHOT_AGE_MAX_MS), () =>
    refusing('B4', {
      sentence:
        age === null
          ? 'there is no snapshot of etcd'
          : `the last snapshot of etcd is ${Math.round(age / 60_000)} minutes old`,
      facts: { snapshot: facts.snapshot?.name ?? null, ageMs: age, ageMaxMs: SNAPSHOT_AGE_MAX_MS },
      help: 'Take one: "fairlead etcd snapshot".',
    }),
  );
};

/** AKS looks back 12 hours, EKS 30 days; we take the longer, as far as API servers remember. */
const API_USE_WINDOW_MS = 30 * 24 * 3_600_000;

/** B5: nothing used an API of late that the target no longer has. */
export const b5RemovedApis = (facts: ClusterFacts, target: string): readonly Finding[] => {
  const used = facts.deprecatedApis.filter(
    ({ removedIn, requests, lastUsedAt }) =>
      requests > 0 &&
      removedIn !== null &&
      minorsAhead(removedIn, target) >= 0 &&
      (lastUsedAt === null || Date.parse(facts.at) - Date.parse(lastUsedAt) <= API_USE_WINDOW_MS),
  );
  return used.map(({ api, removedIn, requests, lastUsedAt }) =>
    refusing('B5', {
      sentence: `${api} is used (${requests} requests) and gone in ${removedIn}`,
      facts: { api, removedIn, requests, lastUsedAt },
      help: 'Find its users in the audit log of the API server, and move them to the newer version of the API.',
    }),
  );
};

/** Flags that a minor no longer knows; a component that is started with one does not come up. */
export const REMOVED_FLAGS: readonly {
  readonly component: string;
  readonly flag: string;
  readonly removedIn: string;
}[] = [
  { component: 'kube-apiserver', flag: '--cloud-provider', removedIn: '1.33' },
  { component: 'kube-apiserver', flag: '--cloud-config', removedIn: '1.33' },
  { component: 'etcd', flag: '--experimental-', removedIn: 'etcd 3.7' },
];

const isRemoved = (removedIn: string, target: string, etcd: string | undefined): boolean =>
  removedIn.startsWith('etcd ')
    ? etcd !== undefined && minorsAhead(removedIn.slice(5), etcd) >= 0
    : minorsAhead(removedIn, target) >= 0;

/** B5: no component is started with a flag that the target no longer knows. */
export const b5RemovedFlags = (facts: ClusterFacts, target: string): readonly Finding[] => {
  const etcd = releaseOf(target)?.etcd;
  return REMOVED_FLAGS.filter(({ removedIn }) => isRemoved(removedIn, target, etcd)).flatMap(
    ({ component, flag, removedIn }) => {
      const nodes = facts.nodes.filter(({ staticPods }) =>
        staticPods.some((pod) => pod.component === component && pod.args.some((arg) => arg.startsWith(flag))),
      );
      return when(nodes.length > 0, () =>
        refusing('B5', {
          sentence: `${component} is started with ${flag}, which ${removedIn} no longer knows`,
          facts: { component, flag, removedIn, nodes: nodes.map(({ name }) => name) },
          help: 'Take the flag out of the ClusterConfiguration in kube-system/kubeadm-config and out of the manifests.',
        }),
      );
    },
  );
};

const WEBHOOK_TIMEOUT_MAX_S = 15;

/** B6: a webhook that must answer, is asked about kube-system and may hang, locks the control plane out of itself. */
export const b6Webhooks = ({ webhooks }: ClusterFacts): readonly Finding[] =>
  webhooks.flatMap(({ name, failurePolicy, matchesKubeSystem, timeoutSeconds }) => [
    ...when(failurePolicy === 'Fail' && matchesKubeSystem, () =>
      refusing('B6', {
        sentence: `webhook ${name} must answer for nodes, pods or leases in kube-system`,
        facts: { webhook: name, failurePolicy },
        help: 'Give it a namespaceSelector that leaves kube-system out, or failurePolicy Ignore.',
      }),
    ),
    ...when(timeoutSeconds > WEBHOOK_TIMEOUT_MAX_S, () =>
      refusing('B6', {
        sentence: `webhook ${name} may take ${timeoutSeconds} s, more than ${WEBHOOK_TIMEOUT_MAX_S}`,
        facts: { webhook: name, timeoutSeconds, timeoutMaxSeconds: WEBHOOK_TIMEOUT_MAX_S },
        help: 'Lower its timeoutSeconds.',
      }),
    ),
  ]);

const b7Asked = (sentence: string, facts: Readonly<Record<string, unknown>>, help: string): Finding =>
  asking('B7', { sentence, facts, help });

const coveredTwice = (budgets: readonly BudgetFacts[]): readonly string[] => {
  const seen = new Map<string, number>();
  for (const { pods } of budgets) for (const pod of pods) seen.set(pod, (seen.get(pod) ?? 0) + 1);
  return [...seen].filter(([, times]) => times > 1).map(([pod]) => pod);
};

/** B7: budgets that allow nothing now, pods under two budgets (the eviction API refuses those), bare pods, emptyDirs. */
export const b7PodsCanMove = (facts: ClusterFacts, drained: readonly NodeName[]): readonly Finding[] => {
  const pods = facts.pods.filter(({ node }) => drained.includes(node));
  const names = new Set(pods.map(({ name }) => name));
  const tight = facts.budgets.filter((one) => one.disruptionsAllowed < 1 && one.pods.some((pod) => names.has(pod)));
  const twice = coveredTwice(facts.budgets).filter((pod) => names.has(pod));
  const bare = pods.filter((pod) => pod.bare).map(({ name }) => name);
  const emptyDir = pods.filter((pod) => pod.emptyDir).map(({ name }) => name);
  return [
    ...tight.map(({ name, pods: covered }) =>
      b7Asked(
        `budget ${name} allows no disruption now`,
        { budget: name, pods: covered },
        'Add a replica, or expect that nodes wait for it until the drain timeout.',
      ),
    ),
    ...when(twice.length > 0, () =>
      b7Asked(`pods under more than one budget cannot be evicted: ${twice.join(', ')}`, { pods: twice }, 'Leave one.'),
    ),
    ...when(bare.length > 0, () =>
      b7Asked(`pods that nothing makes anew: ${bare.join(', ')}`, { pods: bare }, 'They end with the drain.'),
    ),
    ...when(emptyDir.length > 0, () =>
      informing('B7', {
        sentence: `pods lose what they hold in an emptyDir: ${emptyDir.join(', ')}`,
        facts: { pods: emptyDir },
        help: 'Move what must stay to a volume.',
      }),
    ),
  ];
};

const sumOf = (pods: readonly PodFacts[], of: 'cpuMillis' | 'memoryBytes'): number =>
  pods.reduce((sum, { requests }) => sum + requests[of], 0);

const missing = (
  nodes: readonly NodeFacts[],
  pods: readonly PodFacts[],
  away: readonly NodeName[],
): string | undefined =>
  (['cpuMillis', 'memoryBytes'] as const).find((of) => {
    const room = nodes
      .filter(({ name, unschedulable, ready }) => !away.includes(name) && !unschedulable && ready)
      .reduce((sum, { allocatable }) => sum + allocatable[of], 0);
    return sumOf(pods, of) > room;
  });

/** B7: what requests the nodes that are away together hold, the others have room for. Largest nodes are taken as away. */
export const b7Capacity = (facts: ClusterFacts, pool: string, atOnce: number): readonly Finding[] => {
  const workers = facts.nodes.filter(({ role }) => role === 'worker');
  const held = workers.length > 0 ? workers : facts.nodes;
  const away = held
    .filter((node) => node.pool === pool)
    .toSorted((one, other) => other.allocatable.memoryBytes - one.allocatable.memoryBytes)
    .slice(0, atOnce)
    .map(({ name }) => name);
  const names = new Set(held.map(({ name }) => name));
  const pods = facts.pods.filter(({ node }) => names.has(node));
  const short = missing(held, pods, away);
  return when(away.length > 0 && short !== undefined, () =>
    b7Asked(
      `while ${atOnce} of pool ${pool} are away, the others have too little ${short === 'cpuMillis' ? 'CPU' : 'memory'} for all requests`,
      { pool, atOnce, short },
      'Add a node, ask for a smaller maxUnavailable, or use maxSurge; else pods stay Pending meanwhile.',
    ),
  );
};

const CERTIFICATE_MARGIN_MS = 30 * 24 * 3_600_000;
const CLOCK_SKEW_MAX_MS = 1_000;

/** B8: no certificate ends before the plan can have ended, and 30 days more; a plan that renews them satisfies it. */
export const b8Certificates = (
  facts: ClusterFacts,
  endsAtMs: number,
  renewed: readonly NodeName[],
): readonly Finding[] =>
  facts.nodes.flatMap(({ name, certificates }) => {
    const early = (certificates ?? []).filter(
      (one) =>
        Date.parse(one.expiresAt) < endsAtMs + CERTIFICATE_MARGIN_MS &&
        (!renewed.includes(name) ||
          one.name === 'ca' ||
          one.name.endsWith('-ca') ||
          Date.parse(one.expiresAt) < endsAtMs),
    );
    return when(early.length > 0, () =>
      refusing('B8', {
        sentence: `certificates of ${name} end too soon: ${early.map((one) => `${one.name} ${one.expiresAt}`).join(', ')}`,
        facts: { node: name, certificates: early },
        help: 'Renew them first: "fairlead certificates renew".',
      }),
    );
  });

/** B8: clocks agree within a second, or certificates and leases are judged differently on each node. */
export const b8Clocks = ({ nodes }: ClusterFacts): readonly Finding[] =>
  nodes.flatMap(({ name, clockSkewMs }) =>
    when(clockSkewMs !== null && Math.abs(clockSkewMs) >= CLOCK_SKEW_MAX_MS, () =>
      refusing('B8', {
        sentence: `the clock of ${name} is ${Math.round(Math.abs(clockSkewMs ?? 0))} ms off`,
        facts: { node: name, clockSkewMs, clockSkewMaxMs: CLOCK_SKEW_MAX_MS },
        help: 'Let it take its time from the same server as the others (chrony, systemd-timesyncd).',
      }),
    ),
  );

/** B9: room for images and data, and the source of files answers each node itself. */
export const b9Room = ({ nodes }: ClusterFacts, changed: readonly NodeName[]): readonly Finding[] =>
  nodes
    .filter(({ name }) => changed.includes(name))
    .flatMap(({ name, disk, sourceReachable }) => [
      ...when(disk !== null && disk.freeBytes < disk.neededBytes, () =>
        refusing('B9', {
          sentence: `${name} has too little room on its disk`,
          facts: { node: name, ...disk },
          help: 'Remove what it no longer needs (crictl rmi --prune), or give it a larger disk.',
        }),
      ),
      ...when(sourceReachable === false, () =>
        refusing('B9', {
          sentence: `${name} does not reach its source of packages and images`,
          facts: { node: name },
          help: 'Look at its routes, proxy and name servers.',
        }),
      ),
    ]);

interface EtcdMinorStep {
  readonly to: string;
  /** Every member must run at least this. */
  readonly memberMin: string;
  readonly v2StoreClean: boolean;
}

/** etcd.io, upgrade guides to 3.6 and 3.7. */
const ETCD_STEPS: readonly EtcdMinorStep[] = [
  { to: '3.6', memberMin: '3.5.32', v2StoreClean: true },
  { to: '3.7', memberMin: '3.6.11', v2StoreClean: false },
];

const b10Refusal = (sentence: string, facts: Readonly<Record<string, unknown>>, help: string): Finding =>
  refusing('B10', { sentence, facts, help });

/** B10: etcd goes one minor at a time, and only from a version that its upgrade guide names. */
export const b10EtcdMinor = (etcd: EtcdFacts | null, from: string, to: string): readonly Finding[] => {
  if (!isMinorChange(from, to)) return [];
  const ahead = minorsAhead(from, to);
  if (ahead !== 1)
    return [
      b10Refusal(`etcd would go from ${minorOf(from)} to ${minorOf(to)}`, { from, to }, 'One minor of etcd at a time.'),
    ];
  const step = ETCD_STEPS.find((one) => one.to === minorOf(to));
  if (step === undefined || etcd === null) return [];
  // Members that will be exchanged by an earlier step of the path are judged by that step's release, not by what runs now.
  const old = etcd.members.filter(
    ({ version }) => minorOf(version) === minorOf(from) && compareVersions(version, step.memberMin) < 0,
  );
  return [
    ...when(old.length > 0, () =>
      b10Refusal(
        `etcd ${step.to} needs every member at ${step.memberMin} first: ${old.map(({ name, version }) => `${name} ${version}`).join(', ')}`,
        { members: old.map(({ name, version }) => ({ name, version })), memberMin: step.memberMin },
        'Go to the latest patch of the present Kubernetes minor first, or set a newer etcd image.',
      ),
    ),
  ];
};

/** B10: data of the v2 store are lost by the minor of etcd that has none, whichever step of the path brings it. */
export const b10V2Store = (etcd: EtcdFacts | null, from: string, to: string): readonly Finding[] => {
  const step = isMinorChange(from, to) ? ETCD_STEPS.find((one) => one.to === minorOf(to)) : undefined;
  if (etcd === null || step?.v2StoreClean !== true) return [];
  const dirty = etcd.members.filter(({ v2StoreClean }) => v2StoreClean === false);
  return [
    ...when(dirty.length > 0, () =>
      b10Refusal(
        `etcd still holds data of its v2 store: ${dirty.map(({ name }) => name).join(', ')}`,
        { members: dirty.map(({ name }) => name) },
        'See "etcdutl check v2store" and move that data.',
      ),
    ),
  ];
};

/** What could not be read is no good news: its rule refuses in the world's own words. */
export const unreadFindings = ({ unread }: ClusterFacts): readonly Finding[] =>
  unread.map(({ what, rule, message }) => ({
    rule,
    severity: 'refuse' as const,
    sentence: `${what} could not be read: ${message}`,
    facts: { what },
    help: 'Mend what keeps it from being read, and ask again.',
  }));

/** An upgrade asks for something. */
export const asksForNothing = ({ kubernetes, software, renewCertificates, reboot }: UpgradeTarget): boolean =>
  kubernetes === undefined && Object.keys(software ?? {}).length === 0 && !renewCertificates && !reboot;

export const isPatchOf = (from: string, to: string): boolean =>
  versionOf(from).minor === versionOf(to).minor && versionOf(from).major === versionOf(to).major;
