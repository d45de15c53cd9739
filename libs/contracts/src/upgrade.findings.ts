import type { Finding, UpgradeRule } from './upgrades.js';

/**
 * The findings of the upgrade rules as data: `<rule>.<reason>`, severity, sentence and remedy. upgrade-svc fills the
 * {placeholders}; docs/upgrades.md lists all of them.
 */
interface FindingDefinition {
  readonly severity: Finding['severity'];
  /** plan: while the plan is made; request: for a request about the upgrade; node: before a node changes. */
  readonly when: 'plan' | 'request' | 'node';
  readonly sentence: string;
  readonly help: string;
  /**
   * Only a different request resolves it. Absent: an upgrade declared by a manifest waits until the finding no longer
   * applies.
   */
  readonly permanent?: true;
}

/** The upgrade does not start, unless the rule can be overridden and an operator overrode it. */
const refuses = <const S extends string, const H extends string>(sentence: S, help: H) =>
  ({ severity: 'refuse', when: 'plan', sentence, help }) as const satisfies FindingDefinition;
/** The upgrade does not start, and no change of the cluster's state can resolve it. */
const forbids = <const S extends string, const H extends string>(sentence: S, help: H) =>
  ({ severity: 'refuse', when: 'plan', sentence, help, permanent: true }) as const satisfies FindingDefinition;
/** A request about the upgrade is refused; the upgrade is unchanged. */
const denies = <const S extends string, const H extends string>(sentence: S, help: H) =>
  ({ severity: 'refuse', when: 'request', sentence, help }) as const satisfies FindingDefinition;
/** The change of a node does not start. */
const blocks = <const S extends string, const H extends string>(sentence: S, help: H) =>
  ({ severity: 'refuse', when: 'node', sentence, help }) as const satisfies FindingDefinition;
/** The plan shows it and requires approval. */
const asks = <const S extends string, const H extends string>(sentence: S, help: H) =>
  ({ severity: 'ask', when: 'plan', sentence, help }) as const satisfies FindingDefinition;
/** The plan shows it. */
const informs = <const S extends string, const H extends string>(sentence: S, help: H) =>
  ({ severity: 'inform', when: 'plan', sentence, help }) as const satisfies FindingDefinition;

const WORKERS_FIRST =
  'Upgrade the workers to a newer version first: "fairlead upgrade start <cluster> --to <version> --no-control-plane".';

export const UPGRADE_FINDINGS = {
  'A1.apart': refuses(
    'API servers would run {oldest} and {newest} at the same time, more than one minor version apart',
    'Bring every control plane to the same minor version first; end the hold of those that are held: "fairlead node unhold <cluster> <node>".',
  ),
  'A1.lower': forbids(
    '{to} is a lower minor version than {from}, which runs now',
    'Request the same minor version or a later one.',
  ),
  'A1.skips': forbids('upgrading from {from} to {to} skips a minor version', 'Request each minor version in between.'),
  'A1.earlier-patch': asks(
    '{to} is an earlier patch than {from}, which runs now',
    'This is possible; approve the plan if it is intended.',
  ),
  'A1.not-skippable': denies(
    '{node} is a control plane, and control planes cannot be skipped',
    'Retry it ("fairlead upgrade retry <cluster>"), or abort the rollout ("fairlead upgrade abort <cluster>").',
  ),
  'A1.nothing-left': denies('nothing is left to do on {node}', 'See "fairlead upgrade status <cluster>".'),
  'A2.too-new': refuses(
    '{component} {version} of {node} would be newer than API server {apiServer}',
    'Upgrade every API server that it can reach first; end the hold of control planes that are held: "fairlead node unhold <cluster> <node>".',
  ),
  'A2.too-old': refuses(
    '{component} {version} of {node} would be {minors} minor versions older than API server {apiServer}',
    WORKERS_FIRST,
  ),
  'A3.skew': refuses(
    '{component} {version} of {node} is not compatible with API server {apiServer}',
    'Bring it to the version of its API server, or one minor version below.',
  ),
  'A4.minor-unknown': forbids(
    'the path from {from} to {to} passes through {missing}, of which Fairlead knows no release',
    'Add one ("fairlead release add <version>"), or request a nearer version.',
  ),
  'A4.nothing-requested': forbids(
    'the request names nothing to change',
    'Name a version, software, renewCertificates or reboot.',
  ),
  'A4.release-listed': informs(
    '{version} is only listed: neither a real host nor the lab has run it with Fairlead',
    'Upgrade a cluster that may fail first; "fairlead release list" shows what has run each release.',
  ),
  'A4.release-withdrawn': forbids('{version} was withdrawn: {reason}', 'Request another patch of its minor version.'),
  'A4.release-unknown': forbids(
    'Fairlead knows no release {version}',
    'Request one that it knows, {known}, or add it: "fairlead release add <version>".',
  ),
  'A5.kubeadm': forbids(
    '{operation} would run kubeadm {kubeadm} for Kubernetes {kubernetes} on {node}',
    'Leave kubeadm out of the requested software: it is upgraded together with Kubernetes.',
  ),
  'A6.at-the-limit': refuses(
    'kubelet {kubelet} of {node} is as old as API server {apiServer} allows, and the plan leaves the node out',
    WORKERS_FIRST,
  ),
  'B1.in-progress': refuses('another operation is in progress: {what}', 'Wait until it has ended, or end it.'),
  'B1.not-ready': refuses(
    'the cluster is not Ready',
    'Bring it to Ready first: "fairlead cluster describe <cluster>" shows what it waits for.',
  ),
  'B1.another-upgrade': refuses(
    'upgrade {upgradeId} {state}',
    '{next}, or end it: "fairlead upgrade abort <cluster>".',
  ),
  'B1.plan-changed': denies(
    'the approved plan is not the plan that waits for approval',
    'Read the plan again ("fairlead upgrade status <cluster>"), and approve its hash.',
  ),
  'B1.not-overridable': denies('rule {rule} cannot be overridden', 'Fix its cause.'),
  'B2.nodes': refuses(
    'nodes are not Ready: {reasons}',
    'Fix or remove these nodes, or name them in strategy.excusedNodes.',
  ),
  'B2.system': refuses(
    'not Ready in kube-system: {unready}',
    'Fix these pods first: "kubectl -n kube-system describe pods".',
  ),
  'B2.unstable': refuses(
    'the cluster was healthy {passes} times in a row instead of {passesMin}',
    'Something alternates between Ready and not Ready: see "fairlead events <cluster>", then start the upgrade again.',
  ),
  'B3.members': refuses(
    'etcd: {members}',
    'Bring each member back ("crictl logs" of etcd on its node), or remove its control plane ("fairlead node remove <cluster> <node>"); remove a member that belongs to no node with "etcdctl member remove <id>".',
  ),
  'B3.not-started': refuses(
    'etcd: {member} has not started',
    'It belongs to no node, as after a join that was ended. Remove it: "etcdctl member remove {id}", in a container of etcd.',
  ),
  'B3.alarms': refuses(
    'etcd has active alarms: {alarms}',
    'Fix their cause, then run "etcdctl alarm disarm"; for NOSPACE compact and defragment first.',
  ),
  'B3.versions': refuses(
    'etcd members run different versions: {versions}',
    'Complete the upgrade of etcd that was begun.',
  ),
  'B3.space': refuses('etcd uses {percent} % of its quota', 'Compact and defragment etcd, or raise its quota.'),
  'B3.two-members': refuses(
    'etcd has two members and loses its quorum without either',
    'Add a control plane, or remove one.',
  ),
  'B3.orphans': refuses(
    'etcd has members without a control plane: {orphans}',
    'Find out what they were, then remove them: "etcdctl member remove".',
  ),
  'B3.without-member': refuses(
    'control planes without an etcd member: {nodes}',
    'Remove these nodes, or let them join again.',
  ),
  'B4.none': refuses('there is no snapshot of etcd', 'Take one: "fairlead etcd snapshot <cluster> --wait".'),
  'B4.old': refuses(
    'the latest snapshot of etcd is {minutes} minutes old',
    'Take one: "fairlead etcd snapshot <cluster> --wait".',
  ),
  'B5.api': refuses(
    '{api} is in use ({requests} requests) and is removed in {removedIn}',
    'Find its clients in the audit log of the API server, and move them to the newer API version.',
  ),
  'B5.flag': refuses(
    '{component} is started with {flag}, which is removed in {removedIn}: {where}',
    'Remove the flag from each of these places, and from the ClusterConfiguration in kube-system/kubeadm-config.',
  ),
  'B5.gate': refuses(
    '{component} sets the feature gate {gate}, which is removed in {removedIn}, and would not start: {where}',
    'Remove the gate from each of these places, and from the ClusterConfiguration in kube-system/kubeadm-config.',
  ),
  'B5.locked-gate': refuses(
    '{component} sets the feature gate {gate}, which is locked to {value} since {lockedIn}, and would not start: {where}',
    'Remove the gate from each of these places, and from the ClusterConfiguration in kube-system/kubeadm-config.',
  ),
  'B5.admission-plugin': refuses(
    '{component} names the admission plugin {plugin}, which is removed in {removedIn}, and would not start: {where}',
    'Remove the plugin from each of these places, and from the ClusterConfiguration in kube-system/kubeadm-config.',
  ),
  'B5.cgroup-v1': refuses(
    'kubelets of {removedIn} and later do not start on hosts with cgroup v1: {nodes}',
    'Boot these hosts with systemd.unified_cgroup_hierarchy=1. To keep cgroup v1 for now, set failCgroupV1: false in kube-system/kubelet-config, and in the kubeadm patch of each node (/etc/fairlead/kubeadm-patches).',
  ),
  'B6.fail-closed': refuses(
    'webhook {webhook} has failurePolicy Fail for nodes, pods or leases in kube-system',
    'Give it a namespaceSelector that excludes kube-system, or failurePolicy Ignore.',
  ),
  'B6.timeout': refuses(
    'webhook {webhook} has a timeout of {timeoutSeconds} s, more than {timeoutMaxSeconds} s',
    'Lower its timeoutSeconds.',
  ),
  'B7.budget': asks(
    'PodDisruptionBudget {budget} allows no disruption now',
    'Add a replica; otherwise its nodes wait for it until the drain times out.',
  ),
  'B7.two-budgets': asks(
    'pods that more than one PodDisruptionBudget selects cannot be evicted: {pods}',
    'Leave one budget for each pod.',
  ),
  'B7.bare': asks(
    'pods without a controller are not recreated: {pods}',
    'Save what they hold; they end with the drain.',
  ),
  'B7.empty-dir': informs(
    'pods lose the data of their emptyDir volumes: {pods}',
    'Move data that must survive to a persistent volume.',
  ),
  'B7.capacity': asks(
    'while {atOnce} nodes of pool {pool} are away, the others have too little {resource} for all requests',
    'Add a node ("fairlead node add <cluster>"), lower maxUnavailable, or set maxSurge; otherwise pods stay Pending meanwhile.',
  ),
  'B8.certificates': refuses(
    'certificates of {node} expire too soon: {expiring}',
    'Renew them first: "fairlead certificates renew <cluster>".',
  ),
  'B8.authority': refuses(
    'certificate authorities of {node} expire too soon: {expiring}',
    'No renewal replaces an authority. Rotate it by hand (Manual Rotation of CA Certificates, in the documentation of Kubernetes), or create another cluster. An upgrade before that needs an override.',
  ),
  'B8.ended': refuses(
    'certificates of {node} have ended, so that the API refuses Fairlead: {ended}',
    '"fairlead certificates renew <cluster>" renews them through the agents, without the API. If that was the request, check that the agent of the node runs, or run "kubeadm certs renew all" on it; then repeat the request.',
  ),
  'B8.clock': refuses(
    'the clock of {node} is off by {skewMs} ms',
    'Synchronize it with the time server of the other nodes (chrony, systemd-timesyncd).',
  ),
  'B9.disk': refuses(
    '{node} has {freeMiB} MiB of free disk space and needs {neededMiB} MiB',
    'Remove unused images (crictl rmi --prune), or enlarge the disk.',
  ),
  'B9.unreachable': refuses(
    '{node} cannot reach its software source {address}: {failure}',
    'Check routes, proxy and DNS of the node, and the source; the node checks again every minute.',
  ),
  'B9.missing': refuses(
    'the software source of {node}, {address}, does not have {missing}',
    'Add it to the source, or request a version that it has; the node checks again within 15 minutes.',
  ),
  'B10.minors': refuses('etcd would go from {from} to {to}', 'Upgrade etcd one minor version at a time.'),
  'B10.member-version': refuses(
    'etcd {to} requires {memberMin} on every member first: {older}',
    'Upgrade to the latest patch of the present Kubernetes minor version first, or set a newer etcd image.',
  ),
  'B10.v2-store': refuses(
    'etcd members still hold data of the v2 store: {members}',
    'See "etcdutl check v2store", and migrate that data.',
  ),
  'B11.flags': refuses(
    'the upgrade would drop flags that were added by hand to {component} on {nodes}: {flags}',
    'Add them to extraArgs of the ClusterConfiguration ("kubectl -n kube-system edit configmap kubeadm-config"), or override B11 to let them go.',
  ),
  'B11.volumes': refuses(
    'the upgrade would drop volumes that were added by hand to {component} on {nodes}: {volumes}',
    'Add them to extraVolumes of the ClusterConfiguration ("kubectl -n kube-system edit configmap kubeadm-config"), or override B11 to let them go.',
  ),
  'B11.containers': refuses(
    'the upgrade would drop containers that were added by hand to {component} on {nodes}: {containers}',
    'Run them as a DaemonSet or a static pod of their own, or override B11 to let them go.',
  ),
  'B11.environment': refuses(
    'the upgrade would drop environment variables that were added by hand to {component} on {nodes}: {variables}',
    'Add them to extraEnvs of the ClusterConfiguration ("kubectl -n kube-system edit configmap kubeadm-config"), or override B11 to let them go.',
  ),
  'B11.resources': refuses(
    'the upgrade would take back resources that were changed by hand for {component} on {nodes}: {resources}',
    'kubeadm writes its own requests and no limits. Note the values and set them again afterwards, and override B11.',
  ),
  'B11.kubelet': refuses(
    'the upgrade would drop feature gates that were added by hand to the kubelet of {node}: {gates}',
    'Add them to featureGates in kube-system/kubelet-config, or override B11 to let them go.',
  ),
  'B11.kubelet-fields': refuses(
    'the upgrade would take back settings of the kubelet of {node} that kubelet-config does not have: {fields}',
    'Add them to kube-system/kubelet-config for all nodes, or to /etc/fairlead/kubeadm-patches/kubeletconfiguration0+merge.yaml on the node; or override B11 to let them go.',
  ),
  'B11.installed': refuses(
    'the upgrade would take back what was changed by hand of {object} in kube-system: {changes}',
    'kubeadm writes its own object again. Images and the endpoint of the API belong into the ClusterConfiguration ("kubectl -n kube-system edit configmap kubeadm-config"); note everything else, override B11, and set it again after the upgrade.',
  ),
  'B11.brought-back': refuses(
    'the upgrade would install {addon} again, which was removed from kube-system',
    'Set {field}.disabled to true in the ClusterConfiguration ("kubectl -n kube-system edit configmap kubeadm-config"), or override B11 to have it again.',
  ),
  'B11.kubeadm-gates': refuses(
    'kubeadm {version} no longer has feature gates that kubeadm-config sets, and ignores them: {gates}',
    'Remove them from featureGates of the ClusterConfiguration ("kubectl -n kube-system edit configmap kubeadm-config"), or override B11 to upgrade without them.',
  ),
  'B12.corefile': refuses(
    'kubeadm cannot migrate the Corefile to CoreDNS {coredns}: it does not know {unsupported}',
    'Take them out of the Corefile ("kubectl -n kube-system edit configmap coredns"); or check that CoreDNS {coredns} has them, and override B12: kubeadm then leaves them as they are.',
  ),
  'B13.refused': refuses(
    'kubeadm {version} refuses the upgrade on {node}: {words}',
    'kubeadm was run on {node} with --dry-run, and nothing was changed. Correct what it names, and start the upgrade again; or override B13, and kubeadm ignores these checks: {checks}.',
  ),
  'B13.fails': refuses(
    'kubeadm {version} could not finish a dry run of the upgrade on {node}: {words}',
    'Nothing was changed. Correct what it names, such as an object in kube-system that kubeadm cannot read, and start the upgrade again.',
  ),
  'B14.unsupported': refuses(
    'the add-on {addon} supports Kubernetes {supported}, and not {to}',
    'Declare a version of it that does, with its "kubernetes"; or override B14.',
  ),
  'B14.not-deployed': refuses(
    'the add-on {addon} goes before the control plane: {why}',
    'It is tried again by itself; see "fairlead addon get <cluster> {addon}". To change it after the upgrade, declare "upgradeOrder: after"; or override B14.',
  ),
  'C7.surge': forbids(
    'control planes are upgraded in place and have no surge nodes',
    'Leave out maxSurge for pool control-plane; or declare "strategy: Replace" in controlPlane.rollout, which has its own maxSurge.',
  ),
  'C7.two-steps': forbids(
    'control planes are replaced by new ones, which cannot behave as the version before',
    'Leave out twoStep; or declare "strategy: InPlace" in controlPlane.rollout.',
  ),
  'C8.quorum': blocks(
    'etcd has {healthy} healthy of {members} members and would lose its quorum without {node}',
    'Fix the unhealthy member first.',
  ),
  'D5.unbounded': forbids('pool {pool} would force pods out without a time limit', 'Set forceUntil.'),
  'E6.unreachable': refuses(
    'the cluster could not be surveyed: {message}',
    'Fix what prevents Fairlead from reaching it, then start the upgrade again.',
  ),
  'G2.etcd': forbids(
    'Kubernetes {to} comes with etcd {etcdBefore}, and etcd {etcdNow} has already written its data',
    'Stay at this version or upgrade further; restoring a snapshot ("fairlead etcd restore <cluster> <snapshot>") also restores the objects of the cluster.',
  ),
  'G3.control-plane': blocks('{node} is a control plane', 'Retry it: "fairlead upgrade retry <cluster>".'),
  'G3.not-failed': blocks('{node} has not failed in this rollout', 'Only failed workers can be rolled back.'),
  'G3.not-a-failed-worker': denies(
    '{node} is not a worker that failed in this rollout',
    'Only failed workers can be rolled back; retry a failed control plane ("fairlead upgrade retry <cluster>").',
  ),
  'G3.skew': blocks(
    'the previous kubelet {version} of {node} is not compatible with API server {apiServer}',
    'Retry the node ("fairlead upgrade retry <cluster>"), or skip it ("fairlead upgrade skip <cluster> <node>").',
  ),
  'G5.unsupported': forbids('API servers of {to} cannot emulate {from}', 'Leave out twoStep.'),
  'G5.not-one-minor': forbids('only an upgrade by one minor version can be done in two steps', 'Leave out twoStep.'),
  'G5.between-steps': forbids(
    'API servers of {from} already emulate {minor}, and kubeadm {to} downgrades neither CoreDNS nor etcd',
    'Stay as it is for as long as needed, or continue to {from}; a snapshot restores the objects of the cluster.',
  ),
  'G5.emulating': forbids(
    'API servers of {from} still emulate {emulated}: for clients {to} would skip a minor version',
    'Request {from} first: this ends the emulation.',
  ),
} as const satisfies Readonly<Record<`${UpgradeRule}.${string}`, FindingDefinition>>;

export type FindingCode = keyof typeof UPGRADE_FINDINGS;

/** For any rule whose input could not be read. */
export const UNREAD_FINDING = refuses(
  '{what} could not be read: {message}',
  'Fix what prevents it from being read, then start the upgrade again.',
);
