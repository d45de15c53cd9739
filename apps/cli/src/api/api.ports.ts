import type { LogEnd, LogLines, Schemas } from '@fairlead/api-client';
import type {
  BootstrapDataQuery,
  ClusterRequest,
  ConnectionRequest,
  HookPoint,
  NodeSetRequest,
  QuarantineReleaseRequest,
  TokenRequest,
  UpgradeRequest,
} from '@fairlead/contracts';

/** What is asked for, as a user may leave it: the server fills in the defaults and refuses what is wrong. */
export type { ClusterRequest, NodeSetRequest, QuarantineReleaseRequest, TokenRequest };

/** What the server answers. */
export type AutoscalerCredentialView = Schemas['AutoscalerCredential'];
export type IssuedAutoscalerCredentialView = Schemas['SignedAutoscalerCredential'];
export type ClusterChanges = Schemas['ClusterChanges'];
export type WhoamiView = Schemas['Whoami'];
export type JoinTokenView = Schemas['JoinToken'];
export type BootstrapDataView = Schemas['BootstrapData'];
export type SignInCodeView = Schemas['SignInCode'];
export type AuditView = Schemas['Audit'];
export type ClusterView = Schemas['Cluster'];
export type ConnectionView = Schemas['Connection'];
export type OrphanView = Schemas['Orphan'];
export type CreatedTokenView = Schemas['CreatedToken'];
export type EventView = Schemas['Event'];
export type ManifestView = Schemas['ClusterManifestView'];
export type ManifestGenerationsView = Schemas['ManifestGenerationList'];
export type GenerationManifest = Schemas['ManifestOfGeneration'];
export type ScaleView = Schemas['Scale'];
export type TemplateView = Schemas['ClusterTemplate'];
export type HookSecretView = Schemas['HookSecret'];
export type HookSecretRequest = Schemas['HookSecretRequest'];
export type RealmView = Schemas['Realm'];
export type RealmSettings = Schemas['RealmRequest'];
export type ApplicationView = Schemas['Application'];
export type ReleaseView = Schemas['Release'];
export type ReleaseRequest = Schemas['ReleaseRequest'];
export type ReleaseSignersView = Schemas['ReleaseSigners'];
export type ReleaseCatalogueRequest = Schemas['ReleaseCatalogueRequest'];
export type ApplicationVersionView = Schemas['ApplicationVersion'];
export type ApplicationSettings = Pick<Schemas['ApplicationRequest'], 'repository' | 'chart' | 'range'> &
  Partial<Schemas['ApplicationRequest']>;
export type QuotaChange = Schemas['QuotaChange'];
export type ConnectionChange = Schemas['ConnectionChange'];
export type NamespaceView = Schemas['Namespace'];
export type NodeView = Schemas['Node'];
export type NodeActionView = Schemas['NodeAction'];
export type NodeReplacementsView = Schemas['NodeReplacements'];
export type { LogEnd };

export interface NodeLogsFields {
  readonly unit?: string;
  readonly lines?: number;
  readonly sinceSeconds?: number;
}
export type NodeExecView = Schemas['NodeExec'];
export type OperationView = Schemas['Operation'];
export type StepView = Schemas['Step'];
export type NodeProgressView = Schemas['NodeProgress'];
export type QuarantinedClusterView = Schemas['QuarantinedCluster'];
export type RejectedView = Schemas['Rejected'];
export type SpecView = Schemas['SpecList']['items'][number];
export type TokenView = Schemas['Token'];
export type UpgradeView = Schemas['Upgrade'];
export type UpgradeSummary = Schemas['UpgradeSummary'];
export type UpdatesView = Schemas['Updates'];
export type NodeUpdatesView = Schemas['NodeUpdates'];
export type EtcdSnapshotView = Schemas['EtcdSnapshot'];
export type EtcdRequestView = Schemas['EtcdRequest'];
export type CertificateView = Schemas['Certificate'];
export type VersionView = Schemas['Version'];

/** A manifest as a user wrote it: what is missing or wrong in it is the server's to say. */
export interface Manifest {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

export interface TemplateAt {
  readonly namespace: string;
  readonly template: string;
}

/** The size that a pool is to have, and nodes that leave first; or how many it gets. */
export interface ScaleFields {
  readonly spec: { readonly replicas: number; readonly remove?: string[] } | { readonly add: number };
  readonly metadata?: { readonly resourceVersion: string };
}

/** Region, zone and settings may be left out, as the REST API allows. */
export type ConnectionSettings = Pick<ConnectionRequest, 'provider'> & Partial<ConnectionRequest>;

/** What may be left out, is. */
export type UpgradeFields = Partial<Omit<UpgradeRequest, 'strategy'>> & {
  readonly strategy?: Readonly<Record<string, unknown>>;
};

/** What is done with an upgrade that there is. */
export type Steering =
  | { readonly action: 'approve'; readonly planHash: string }
  | { readonly action: 'pause' | 'abort'; readonly reason: string }
  | { readonly action: 'resume' | 'retry' }
  | { readonly action: 'skip'; readonly node: string; readonly reason: string }
  | { readonly action: 'rollback'; readonly node: string }
  | { readonly action: 'override'; readonly rule: string; readonly reason: string };

export interface ClusterAt {
  readonly namespace: string;
  readonly cluster: string;
}

/** Which events of a cluster: those after a sequence, of all types or of some. */
export interface EventsWanted {
  readonly since: number;
  readonly types?: readonly string[];
}

/** The gateway took a request down: it is the event of that sequence. What follows from it comes later. */
export interface Accepted {
  readonly seq: number;
}

export type AcceptedEtcdRequest = Accepted & { readonly asked: EtcdRequestView };

/** More workers, and what happens to them if provisioning fails. */
export interface MoreNodes {
  readonly worker: readonly NodeSetRequest[];
  readonly onFailure?: 'rollback' | 'keep';
}

/** How a node is replaced. */
export interface NodeReplacement {
  readonly order: 'create-first' | 'remove-first';
  readonly reason: string;
}

/** Which nodes: what is left out selects nothing. */
export interface NodeSelection {
  readonly nodes?: string[];
  readonly pools?: string[];
  readonly labels?: Record<string, string>;
  readonly all?: true;
}

/** Which nodes are replaced by rollouts of their pools. */
export interface NodeReplacementsFields {
  readonly select: NodeSelection;
  readonly reason?: string;
}

/** What nodes are asked for; the server has defaults for what is left out. */
export interface NodeActionFields {
  readonly action: NodeActionView['action'];
  readonly select: NodeSelection;
  readonly reason?: string;
  readonly drain?: boolean;
  readonly drainTimeoutSeconds?: number;
  readonly maxUnavailable?: number;
  readonly expiresInSeconds?: number;
}

/** Which of what a hook holds is let go, and why. */
export interface HookSkip {
  readonly point?: HookPoint;
  readonly node?: string;
  readonly reason: string;
}

/** What the commands need of the REST API. Every method throws a `CliFailure` when the answer is no success. */
export interface Api {
  readonly server: string;
  /** Whom the user said to trust, PEM; undefined: the authorities of the system. */
  readonly authority: string | undefined;
  /** For what is no route of the API: the readiness of the server. */
  readonly fetch: (request: Request) => Promise<Response>;
  version(): Promise<VersionView>;
  whoami(): Promise<WhoamiView>;
  /** Signs a browser on the machine of the gateway in, as the caller, once. */
  signInCode(): Promise<SignInCodeView>;

  namespaces(): Promise<readonly NamespaceView[]>;
  createNamespace(name: string, description: string): Promise<NamespaceView>;
  namespace(name: string): Promise<NamespaceView>;
  changeNamespaceQuota(name: string, change: QuotaChange): Promise<NamespaceView>;
  deleteNamespace(name: string): Promise<void>;
  hookSecrets(namespace: string): Promise<readonly HookSecretView[]>;
  /** Its value is never answered. */
  putHookSecret(namespace: string, secret: string, request: HookSecretRequest): Promise<HookSecretView>;
  deleteHookSecret(namespace: string, secret: string): Promise<void>;
  realms(namespace: string): Promise<readonly RealmView[]>;
  realm(namespace: string, name: string): Promise<RealmView>;
  /** Registers it, or replaces its settings. */
  putRealm(namespace: string, name: string, settings: RealmSettings): Promise<RealmView>;
  /** `force`: also while clusters use it. */
  deleteRealm(namespace: string, name: string, force: boolean): Promise<void>;

  /** Newest first. */
  releases(): Promise<readonly ReleaseView[]>;
  release(version: string): Promise<ReleaseView>;
  /** Adds it, or replaces what is known of it. */
  putRelease(version: string, request: ReleaseRequest): Promise<ReleaseView>;
  withdrawRelease(version: string, reason: string): Promise<ReleaseView>;
  releaseSigners(): Promise<ReleaseSignersView>;
  putReleaseSigners(signers: readonly string[]): Promise<ReleaseSignersView>;
  importReleaseCatalogue(request: ReleaseCatalogueRequest): Promise<ReleaseSignersView>;

  applications(): Promise<readonly ApplicationView[]>;
  application(name: string): Promise<ApplicationView>;
  /** With the schema of its values. */
  applicationVersion(name: string, version: string): Promise<ApplicationVersionView>;
  /** Registers it, or replaces its settings. */
  putApplication(name: string, settings: ApplicationSettings): Promise<ApplicationView>;
  /** Accepted is not done. */
  syncApplication(name: string): Promise<void>;
  deleteApplication(name: string): Promise<void>;

  connections(): Promise<readonly ConnectionView[]>;
  connection(name: string): Promise<ConnectionView>;
  /** What its provider offered last. */
  specs(connection: string): Promise<readonly SpecView[]>;
  /** Registers it, or replaces its settings. */
  putConnection(name: string, settings: ConnectionSettings): Promise<ConnectionView>;
  changeConnection(name: string, change: ConnectionChange): Promise<ConnectionView>;
  /** Asks for another look, and for another try to clean hosts that were kept out. */
  verifyConnection(name: string): Promise<void>;
  /** `host` null: the jump host. */
  acceptHostKey(name: string, host: string | null, hostKey: string): Promise<void>;
  acceptHost(name: string, host: string): Promise<void>;
  /** `force`: end the rotation that is under way. Accepted is not done. */
  rotateSshKey(name: string, force: boolean): Promise<void>;
  deleteConnection(name: string): Promise<void>;
  /** Machines that no cluster has planned. */
  orphans(connection: string): Promise<readonly OrphanView[]>;
  /** Accepted is not done: it is checked again first. */
  deleteOrphan(connection: string, id: string): Promise<void>;
  /** Accepted is not done: it is checked first. */
  adoptOrphan(
    connection: string,
    id: string,
    into: ClusterAt & { readonly pool: string },
    key: string,
  ): Promise<Accepted>;

  /** The token is in the answer only. */
  createJoinToken(
    into: ClusterAt & { readonly pool: string },
    request: { readonly ttlSeconds: number },
    key: string,
  ): Promise<JoinTokenView>;

  /** With a token of the pool. */
  bootstrapData(of: ClusterAt & { readonly pool: string }, query: BootstrapDataQuery): Promise<BootstrapDataView>;

  clusters(namespace: string): Promise<readonly ClusterView[]>;
  /** Shows at least what the log held at `minSeq`. */
  cluster(at: ClusterAt, minSeq?: number): Promise<ClusterView>;
  /** As it was at a sequence of the log, or at a time (RFC 3339). */
  clusterAsOf(at: ClusterAt, moment: number | string): Promise<ClusterView>;
  /** Accepted is not done: the cluster is being built when this resolves. The same key asks for the same cluster. */
  createCluster(
    namespace: string,
    request: ClusterRequest,
    idempotencyKey: string,
  ): Promise<Accepted & { readonly cluster: ClusterView }>;
  /** Shows at least what the log held at `minSeq`. */
  manifest(at: ClusterAt, minSeq?: number): Promise<ManifestView>;
  /** What it was declared to be, latest first; also of a cluster that is gone. */
  generations(at: ClusterAt): Promise<ManifestGenerationsView>;
  generation(at: ClusterAt, generation: number): Promise<GenerationManifest>;
  /** Creates the cluster, or makes it as declared; a dry run says what would be done. */
  putManifest(
    at: ClusterAt,
    manifest: Manifest,
    how: { readonly dryRun: boolean; readonly idempotencyKey: string },
  ): Promise<Accepted & { readonly manifest: ManifestView }>;
  templates(namespace: string): Promise<readonly TemplateView[]>;
  template(at: TemplateAt): Promise<TemplateView>;
  /** Creates the template, or changes what may be changed of it; a dry run says what it would be. */
  putTemplate(at: TemplateAt, manifest: Manifest, how: { readonly dryRun: boolean }): Promise<TemplateView>;
  deleteTemplate(at: TemplateAt): Promise<void>;
  /** Scales a pool; a dry run says what would be done. */
  putScale(
    at: ClusterAt,
    pool: string,
    scale: ScaleFields,
    how: { readonly dryRun: boolean; readonly idempotencyKey: string },
  ): Promise<Accepted & { readonly scale: ScaleView }>;
  deleteCluster(at: ClusterAt): Promise<Accepted>;
  retryCluster(at: ClusterAt): Promise<Accepted>;
  /** Nodes that failed at their network configuration try it again; answers with the cluster as it is then. */
  retryNetwork(at: ClusterAt): Promise<ClusterView>;
  /** Lets go what a hook holds; answers with the cluster as it is then. */
  skipHook(at: ClusterAt, hook: string, request: HookSkip): Promise<ClusterView>;
  pauseCluster(at: ClusterAt, reason: string): Promise<ClusterView>;
  resumeCluster(at: ClusterAt, reason: string): Promise<ClusterView>;
  /** A kubeconfig with a new client certificate for the token that is used, as YAML. Without a time: 8 hours. */
  kubeconfig(at: ClusterAt, ttlSeconds?: number): Promise<string>;
  /** The administrator's kubeconfig, as YAML. Reading it is recorded. */
  administratorKubeconfig(at: ClusterAt): Promise<string>;
  usersKubeconfig(at: ClusterAt): Promise<string>;
  /** Oldest first; also of a cluster that is gone. Shows at least what the log held at `minSeq`. */
  operations(at: ClusterAt, minSeq?: number): Promise<readonly OperationView[]>;

  /** All of them, or those of pools and with labels. */
  nodes(at: ClusterAt, selection?: Pick<NodeSelection, 'pools' | 'labels'>): Promise<readonly NodeView[]>;
  node(at: ClusterAt, node: string): Promise<NodeView>;
  addNodes(at: ClusterAt, request: MoreNodes, idempotencyKey: string): Promise<Accepted>;
  /** Gives up requests for nodes that are not done. */
  abandonNodes(at: ClusterAt): Promise<Accepted>;
  removeNode(at: ClusterAt, node: string): Promise<Accepted>;
  /** Accepted is not done: a drain that ends at the same moment comes first. */
  cancelRemoval(at: ClusterAt, node: string, reason: string, idempotencyKey: string): Promise<Accepted>;
  replaceNode(at: ClusterAt, node: string, how: NodeReplacement, idempotencyKey: string): Promise<Accepted>;
  replaceNodes(
    at: ClusterAt,
    fields: NodeReplacementsFields,
    idempotencyKey: string,
  ): Promise<Accepted & { readonly asked: NodeReplacementsView }>;

  /** Accepted is not done: the request lasts until it is. */
  requestNodeAction(
    at: ClusterAt,
    fields: NodeActionFields,
    idempotencyKey: string,
  ): Promise<Accepted & { readonly asked: NodeActionView }>;
  /** Run once; the answer is how far it is after at most so many seconds. */
  execOnNode(
    at: ClusterAt,
    node: string,
    request: { readonly command: readonly string[]; readonly timeoutSeconds?: number },
    waitSeconds: number,
  ): Promise<NodeExecView>;
  nodeExec(at: ClusterAt, node: string, id: string, waitSeconds: number): Promise<NodeExecView>;
  nodeLogs(at: ClusterAt, node: string, query: NodeLogsFields): Promise<string>;
  /** The same, and each new line as it is logged. Returns why the server has ended it; undefined: the signal did. */
  followNodeLogs(
    at: ClusterAt,
    node: string,
    query: NodeLogsFields,
    signal: AbortSignal,
  ): AsyncGenerator<LogLines, LogEnd | undefined>;
  cancelOperation(at: ClusterAt, operation: string, reason: string): Promise<NodeActionView>;

  /** Latest first. */
  upgrades(at: ClusterAt): Promise<readonly UpgradeSummary[]>;
  /** Shows at least what the log held at `minSeq`. */
  upgrade(at: ClusterAt, upgrade: string, minSeq?: number): Promise<UpgradeView>;
  /** Answers when there is a plan, or after a while without one. The same key asks for the same upgrade. */
  requestUpgrade(
    at: ClusterAt,
    request: UpgradeFields,
    how: { readonly dryRun: boolean; readonly idempotencyKey: string },
  ): Promise<UpgradeView>;
  steerUpgrade(at: ClusterAt, upgrade: string, steering: Steering): Promise<UpgradeView>;
  setPoolUpdates(
    at: ClusterAt,
    pool: string,
    request: { readonly disabled: boolean; readonly reason: string },
  ): Promise<UpdatesView>;
  setNodeUpdates(
    at: ClusterAt,
    request: { readonly select: NodeSelection; readonly disabled: boolean; readonly reason: string },
  ): Promise<NodeUpdatesView>;
  /** Latest first. */
  etcdSnapshots(at: ClusterAt): Promise<readonly EtcdSnapshotView[]>;
  takeEtcdSnapshot(at: ClusterAt, idempotencyKey: string): Promise<AcceptedEtcdRequest>;
  verifyEtcdSnapshot(at: ClusterAt, snapshot: string, idempotencyKey: string): Promise<AcceptedEtcdRequest>;
  restoreEtcd(
    at: ClusterAt,
    request: { readonly snapshot: string; readonly confirm: string; readonly confirmVersion: string },
    idempotencyKey: string,
  ): Promise<AcceptedEtcdRequest>;
  etcdRequest(at: ClusterAt, request: string): Promise<EtcdRequestView>;
  certificates(at: ClusterAt): Promise<readonly CertificateView[]>;

  /** The events of the name that are in the log now, oldest first; those of all its incarnations. */
  events(at: ClusterAt, which: EventsWanted): Promise<readonly EventView[]>;
  /** The same, and then each new one as it happens. Comes back by itself after a lost connection; ends with the signal. */
  followEvents(at: ClusterAt, which: EventsWanted, signal: AbortSignal): AsyncIterable<EventView>;
  /** The history with its causes, and the verified hash chains, page by page. */
  auditPages(at: ClusterAt): AsyncIterable<AuditView>;
  /** What differs between two moments of the log (a sequence, or a time); without \`to\`, between then and now. */
  changes(
    at: ClusterAt,
    between: { readonly from: number | string; readonly to?: number | string },
  ): Promise<ClusterChanges>;

  quarantined(): Promise<readonly QuarantinedClusterView[]>;
  rejected(): Promise<readonly RejectedView[]>;
  releaseQuarantined(release: QuarantineReleaseRequest): Promise<void>;

  tokens(): Promise<readonly TokenView[]>;
  autoscalerCredentials(at: ClusterAt): Promise<readonly AutoscalerCredentialView[]>;
  issueAutoscalerCredential(
    at: ClusterAt,
    request: { readonly csr: string; readonly ttlDays?: number },
  ): Promise<IssuedAutoscalerCredentialView>;
  revokeAutoscalerCredential(at: ClusterAt, id: string): Promise<void>;
  createToken(request: TokenRequest): Promise<CreatedTokenView>;
  revokeToken(id: string): Promise<void>;
}
