import type { HttpAnswer } from '@fairlead/service-kit/http';
import { ExternalFailure, type StoredEvent } from '@fairlead/contracts';
import type { EvictionAnswer, KubernetesAccess, NodeMetadataChange, PodIdentity } from '@fairlead/kubernetes';
import { CertificateAuthority, kubeconfigText } from '@fairlead/lab/testing/certificates';
import type { StepInputs, StepName } from '@fairlead/node-scripts';
import { MemorySecrets as Secrets } from '@fairlead/testing';
import type { HostAddress, HostScript, HostSession, HostShell, ScriptOutput } from '../src/hosts/hosts.ports.js';
import type {
  KubernetesApi,
  KubernetesCluster,
  Manifest,
  NodeView,
  PlacedPod,
  SigningRequest,
  StaticPodView,
} from '../src/kubernetes/kubernetes.ports.js';

const YEAR_MS = 365 * 24 * 3_600_000;
const ADMINISTRATOR = { commonName: 'kubernetes-admin', organizations: ['system:masters'], usage: 'client' } as const;
const authority = await CertificateAuthority.create(Date.UTC(2026, 0, 20, 10));

/** The time of every simulation. */
const SIGNED_AT = Date.UTC(2026, 0, 1);

/** The API of the clusters in most stories. */
const BALANCED_SERVER = 'https://198.18.7.1:6443';

/** A kubeconfig like kubeadm's, with a client certificate that expires at this time. */
const kubeconfigUntil = async (expiresAt: string): Promise<string> =>
  kubeconfigText({
    cluster: 'demo',
    server: BALANCED_SERVER,
    caPem: authority.pair.certPem,
    user: ADMINISTRATOR.commonName,
    credentials: await authority.issue(ADMINISTRATOR, Date.parse(expiresAt) - YEAR_MS),
  });

export const CA_CERT_HASH = authority.publicKeyHash;
export const KUBECONFIG = await kubeconfigUntil('2027-01-20T10:00:00.000Z');
export const RENEWED_UNTIL = '2126-10-28T08:54:04.000Z';
const RENEWED_KUBECONFIG = await kubeconfigUntil(RENEWED_UNTIL);

/** The private half of the key with which machines are created. */
export const FIRST_KEY = 'a key';

/** In this simulation, the public half of a key contains its private half. */
export const publicOf = (privateKey: string): string => `ssh-ed25519 ${Buffer.from(privateKey).toString('base64')}`;
const privateOf = (publicKey: string): string => Buffer.from(publicKey.split(' ')[1] ?? '', 'base64').toString();

interface FakeHost {
  agentStarted: boolean;
  bundle: boolean;
  joinedAs: 'control-plane' | 'worker' | null;
  /** The control planes over which it balances the API. */
  balances: readonly string[];
  /** The name of the API that it holds; null: none. */
  publishes: string | null;
  /** The CA that its etcd member trusts; null: none. */
  etcd: string | null;
  /** Its kubelet runs the pod with the tools of the external etcd. */
  etcdctl: boolean;
  /** Operators' commands that ran on it. */
  readonly commands: string[];
  /** Private keys that open it. */
  keys: readonly string[];
}

/** Wraps every call to the environment: it may be late, lost before its effect, or lost afterwards. */
export type Passage = <T>(what: string, work: () => T) => Promise<T>;

export const answered = (body: object): HttpAnswer => ({
  kind: 'answered',
  status: 200,
  body: JSON.stringify(body),
});

/**
 * Hosts and the cluster on them, for simulations: records every action, how often it happened, and those that were too
 * early.
 */
export class FakeWorld {
  readonly hosts = new Map<string, FakeHost>();
  readonly nodes = new Set<string>();
  /** Labels of nodes, with taints as labels `taint/key:effect`. */
  readonly labels = new Map<string, ReadonlyMap<string, string>>();
  /** Names of the pods whose eviction a budget rejects. */
  readonly protected = new Set<string>();
  readonly cordoned = new Set<string>();
  /** Load balancers and volumes of the cluster outside its machines, and those that its controllers do not release. */
  readonly outside = new Set<string>();
  readonly unreleased = new Set<string>();
  /** uids of the evicted pods. */
  readonly evicted = new Set<string>();
  /** Calls of hooks: `<point> <node>`, with the ID of each call. */
  readonly asked: { readonly moment: string; readonly id: string }[] = [];
  /** The answer of a hook to its nth call at a point; absent: Success. */
  hookAnswer: (moment: string, call: number) => HttpAnswer = () => answered({ status: 'Success' });
  readonly inits: string[] = [];
  /** The authentication settings in the file of each control plane. */
  readonly signIn = new Map<string, string>();
  /** The groups of applied ClusterRoleBindings, by binding name. */
  readonly bindings = new Map<string, readonly string[]>();
  readonly joins: string[] = [];
  readonly credentials: string[] = [];
  /** The requests for client certificates that the cluster signed. */
  readonly signed: string[] = [];
  /** The credentials that included the certificates. */
  private readonly certified: string[] = [];
  readonly violations: string[] = [];
  /** Members of the external etcd: voters, and learners. */
  readonly voters = new Set<string>();
  readonly learners = new Set<string>();
  private external = false;
  readonly failing = new Map<string, string>();
  /** Ports that a firewall drops, as `address:port`. */
  readonly dropped = new Set<string>();
  readonly unreachable = new Set<string>();
  /** Problems of hosts that they detect themselves. */
  readonly unfit = new Map<string, string>();
  /** The answer of hosts to a request for their administrator's kubeconfig. */
  kubeconfig = KUBECONFIG;
  renewed = RENEWED_KUBECONFIG;
  network = false;
  private readonly facts = new Set<string>();
  private indexed = 0;

  askHook(_url: string, body: string): HttpAnswer {
    const { id, data } = JSON.parse(body) as { id: string; data: { point: string; node?: string } };
    const moment = `${data.point} ${data.node ?? ''}`.trim();
    this.asked.push({ moment, id });
    return this.hookAnswer(
      moment,
      new Set(this.asked.filter((one) => one.moment === moment).map((one) => one.id)).size,
    );
  }

  constructor(private readonly events: readonly StoredEvent[]) {}

  /** In base64, with the API address of this cluster, which kubeadm was configured with. */
  private asRead(kubeconfig: string): string {
    const ready = this.events.findLast((event) => event.type === 'LoadBalancerReady');
    const server =
      ready?.type === 'LoadBalancerReady' ? `https://${ready.data.host}:${ready.data.port}` : BALANCED_SERVER;
    return Buffer.from(kubeconfig.replace(BALANCED_SERVER, server)).toString('base64');
  }

  host(name: string): FakeHost {
    const host = this.hosts.get(name) ?? {
      agentStarted: false,
      bundle: false,
      joinedAs: null,
      balances: [],
      publishes: null,
      etcd: null,
      etcdctl: false,
      commands: [],
      keys: [FIRST_KEY],
    };
    this.hosts.set(name, host);
    return host;
  }

  /** Whether the log has such a fact (about that node). */
  said(type: StoredEvent['type'], node?: string): boolean {
    for (; this.indexed < this.events.length; this.indexed += 1) {
      const event = this.events[this.indexed];
      if (event === undefined) break;
      this.facts.add(event.type);
      if ('node' in event.data) this.facts.add(`${event.type}/${event.data.node}`);
    }
    return this.facts.has(node === undefined ? type : `${type}/${node}`);
  }

  /** The addresses of all machines: every API server advertises its own. */
  addresses(): readonly string[] {
    return this.events.flatMap((event) =>
      event.type === 'VmsCreated' ? event.data.machines.map(({ privateIp }) => privateIp) : [],
    );
  }

  /** Runs a step on a host, like its script would. */
  run<Step extends StepName>(name: string, step: Step, input: StepInputs[Step]): unknown {
    const words = this.failing.get(`${step}/${name}`) ?? this.failing.get(step);
    if (words !== undefined) throw new ExternalFailure({ operation: step, target: name, message: words });
    return this.steps(name)[step](input);
  }

  private steps(name: string): { readonly [Step in StepName]: (input: StepInputs[Step]) => unknown } {
    const host = this.host(name);
    return {
      prepare: () => {
        if (!host.bundle) return { agent: 'missing', node: 'present', bundle: 'present' };
        host.agentStarted = true;
        return { agent: 'started', node: 'present', bundle: 'present' };
      },
      verify: () => ({ problems: [this.unfit.get(name) ?? []].flat() }),
      'kubeadm-init': ({ cluster }) => {
        const changed = host.joinedAs === null;
        this.check(cluster.etcdEndpoints === null || this.said('EtcdReady'), `init on ${name} before its etcd`);
        this.external = cluster.etcdEndpoints !== null;
        if (changed) {
          this.check(this.allBootstrapped(), `init on ${name} before every host was fit`);
          this.inits.push(name);
          this.join(name, 'control-plane');
          this.signIn.set(name, cluster.authentication ?? '');
        }
        return { changed, kubeconfig: this.asRead(this.kubeconfig) };
      },
      credentials: ({ certificates }) => {
        this.check(host.joinedAs === 'control-plane', `credentials were asked of ${name}, which is no control plane`);
        const token = `${String(this.credentials.length).padStart(6, '0')}.0123456789abcdef`;
        this.credentials.push(token);
        if (certificates) this.certified.push(token);
        return { token, certificateKey: certificates ? String(this.credentials.length).padStart(64, '0') : null };
      },
      authentication: ({ content }) => {
        this.check(host.joinedAs === 'control-plane', `${name} is no control plane and gets its file`);
        const changed = this.signIn.get(name) !== content;
        this.signIn.set(name, content);
        return { changed };
      },
      'kubeadm-join-control-plane': ({ cluster, credentials }) => {
        if (host.joinedAs === null) this.signIn.set(name, cluster.authentication ?? '');
        this.check(this.said('NetworkReady'), `${name} joins before the network`);
        this.check(this.certified.at(-1) === credentials.token, `${name} joins with old credentials`);
        this.check(!this.external || this.voters.has(name), `${name} joins without a voting member of etcd beside it`);
        return { ...this.joined(name, 'control-plane'), interrupted: false };
      },
      'kubeadm-join-worker': () => {
        this.check(this.said('NetworkReady'), `${name} joins before the network`);
        this.check(this.said('NodeBootstrapped', name), `${name} joins before it was found fit`);
        return this.joined(name, 'worker');
      },
      'etcd-remove-member': ({ member, external }) => {
        this.check(external === this.external, `the member ${member} was sought in another kind of etcd`);
        this.learners.delete(member);
        return { changed: this.voters.delete(member), members: Math.max(1, this.voters.size) };
      },
      'etcd-add-member': (peer) => {
        this.check(peer.name !== name, `${name} cannot announce itself to etcd`);
        const changed = !this.voters.has(peer.name) && !this.learners.has(peer.name);
        if (changed) this.learners.add(peer.name);
        this.check(this.learners.size <= 1, `etcd has learners ${[...this.learners].join(', ')} at once`);
        const members = [...this.voters, ...this.learners].map((one) => ({
          name: one,
          peerUrl: 'https://10.0.0.1:2380',
        }));
        return { changed, members };
      },
      'etcd-promote-member': (peer) => {
        this.check(this.host(peer.name).etcd !== null, `${peer.name} is promoted before it runs`);
        if (this.learners.delete(peer.name)) this.voters.add(peer.name);
        this.check(this.voters.has(peer.name), `${peer.name} is promoted, and etcd does not know it`);
        return { members: this.voters.size };
      },
      etcdctl: () => {
        const changed = !host.etcdctl;
        host.etcdctl = true;
        return { changed };
      },
      'kubeadm-reset': () => {
        host.joinedAs = null;
        host.agentStarted = false;
        return { changed: true, left: [] };
      },
      'balance-api': ({ peers }) => {
        host.balances = peers.map((peer) => peer.name);
        return { changed: true };
      },
      'publish-api': ({ name: held, privateKey, services }) => {
        this.check(privateKey !== '', `${name} holds ${held} without a key`);
        host.publishes = [held, ...services.map((service) => service.name)].join(' ');
        return { changed: true };
      },
      'etcd-member': ({ certificates, members, joins }) => {
        if (joins) this.check(this.learners.has(name) || this.voters.has(name), `${name} was not announced to etcd`);
        else {
          this.check(this.allBootstrapped(), `etcd on ${name} before every host was fit`);
          this.voters.add(name);
        }
        this.check(host.joinedAs === null, `etcd on ${name}, which is a node already`);
        const others = members.map((member) => this.host(member.name).etcd).filter((ca) => ca !== null);
        this.check(
          others.every((ca) => ca === certificates.ca),
          `etcd on ${name} has another authority`,
        );
        const changed = host.etcd === null;
        host.etcd = certificates.ca;
        return { changed };
      },
      'etcd-health': ({ members }) => {
        const healthy = [...this.hosts.values()].filter(({ etcd }) => etcd !== null).length;
        this.check(healthy === members, `${name} was asked for ${members} members of etcd, and ${healthy} run`);
        return { members };
      },
      'read-kubeconfig': () => {
        this.check(host.joinedAs === 'control-plane', `the kubeconfig was read on ${name}, which is no control plane`);
        return { kubeconfig: this.asRead(this.renewed) };
      },
      'remove-snapshot': () => ({}),
      'prepare-verification': () => ({ problem: null }),
      'verify-snapshot': () => ({
        problem: null,
        status: { hash: 1, revision: 7, totalKey: 3 },
        revision: 7,
        objects: 3,
      }),
      'authorized-keys': ({ add, remove }) => {
        const gone = remove.map(privateOf);
        const kept = host.keys.filter((key) => !gone.includes(key));
        host.keys = add === null ? kept : [...new Set([...kept, privateOf(add)])];
        this.check(host.keys.length > 0, `${name} has no key left`);
        return { changed: true };
      },
      'node-exec': ({ command }) => {
        host.commands.push(command.join(' '));
        return { exitCode: 3, stdout: 'b3V0', stderr: '', stdoutBytes: 3, stderrBytes: 0 };
      },
      'node-log': ({ after }) => {
        const from = Number(after?.cursor ?? 0);
        const position = { cursor: String(from + 1), time: 1 };
        return { text: Buffer.from(`line ${from + 1}\n`).toString('base64'), skipped: 0, position };
      },
      'check-ports': ({ targets }) => ({
        answers: targets.map(({ address, port }, target) => ({
          target,
          answer: this.dropped.has(`${address}:${port}`) ? 'silent' : 'open',
          words: '',
        })),
      }),
      look: () => ({ cpus: 2, memoryMiB: 4096, problems: [] }),
    };
  }

  private allBootstrapped(): boolean {
    const created = this.events.find((event) => event.type === 'VmsCreated');
    return (
      created?.type === 'VmsCreated' && created.data.machines.every(({ name }) => this.said('NodeBootstrapped', name))
    );
  }

  private joined(name: string, role: 'control-plane' | 'worker'): { readonly changed: boolean } {
    if (this.host(name).joinedAs !== null) return { changed: false };
    this.joins.push(name);
    this.join(name, role);
    return { changed: true };
  }

  private join(name: string, role: 'control-plane' | 'worker'): void {
    this.host(name).joinedAs = role;
    this.nodes.add(name);
  }

  setMetadata(node: string, { labels, taints, obsoleteLabels, obsoleteTaints }: NodeMetadataChange): boolean {
    const kept = new Map(this.labels.get(node));
    for (const key of [...obsoleteLabels, ...obsoleteTaints.map((taint) => `taint/${taint}`)]) kept.delete(key);
    for (const [key, value] of Object.entries(labels)) kept.set(key, value);
    for (const { key, value = '', effect } of taints) kept.set(`taint/${key}:${effect}`, value);
    this.labels.set(node, kept);
    return this.nodes.has(node);
  }

  private check(holds: boolean, violation: string): void {
    if (!holds) this.violations.push(violation);
  }
}

class FakeSession implements HostSession {
  readonly hostKey = 'SHA256:abc';
  readonly jumpHostKey = null;
  readonly attempts = 1;

  constructor(
    private readonly world: FakeWorld,
    private readonly name: string,
    private readonly pass: Passage,
  ) {}

  async run(script: HostScript, signal: AbortSignal): Promise<ScriptOutput> {
    signal.throwIfAborted();
    const step = script.name.slice(0, script.name.lastIndexOf('-')) as StepName;
    const result = await this.pass(`${step} on ${this.name}`, () =>
      this.world.run(this.name, step, script.input as StepInputs[typeof step]),
    );
    signal.throwIfAborted();
    return { stdout: `FAIRLEAD-RESULT ${JSON.stringify(result)}\n`, stderr: '' };
  }

  exists(): Promise<boolean> {
    return this.pass(`look at ${this.name}`, () => this.world.host(this.name).bundle);
  }

  async upload(): Promise<void> {
    await this.pass(`upload to ${this.name}`, () => {
      this.world.host(this.name).bundle = true;
    });
  }

  release(): void {
    // Nothing to store.
  }
}

const refused = (): Error => Object.assign(new Error('authentication failed'), { level: 'client-authentication' });

const unopened = (target: string, cause: Error): ExternalFailure =>
  new ExternalFailure({ operation: 'open SSH', target, message: cause.message, retryable: false, cause });

export class FakeShell implements HostShell {
  constructor(
    private readonly world: FakeWorld,
    private readonly pass: Passage,
  ) {}

  async open({ name, privateKey }: HostAddress): Promise<HostSession> {
    await this.pass(`open ${name}`, () => {
      this.requireReachable(name);
      if (!this.world.host(name).keys.includes(privateKey)) throw unopened(name, refused());
    });
    return new FakeSession(this.world, name, this.pass);
  }

  accepts({ name, privateKey }: HostAddress): Promise<boolean> {
    return this.pass(`try a key on ${name}`, () => {
      this.requireReachable(name);
      return this.world.host(name).keys.includes(privateKey);
    });
  }

  private requireReachable(name: string): void {
    if (this.world.unreachable.has(name)) throw unopened(name, new Error('no route to host'));
  }

  async close(): Promise<void> {
    // Nothing to close.
  }
}

const podOn = (node: string, name: string): PlacedPod => ({
  namespace: 'default',
  name,
  uid: `${node}/${name}`,
  phase: 'Running',
  ready: true,
  deleting: false,
  mirror: false,
  createdMs: 0,
  toleratesCordon: false,
  finalizers: [],
  controller: { kind: 'ReplicaSet', name: 'web' },
  labels: {},
  annotations: {},
  priority: 0,
  claims: [],
});

const proxyOn = (node: string): PlacedPod => ({
  ...podOn(node, `kube-proxy-${node}`),
  namespace: 'kube-system',
  controller: { kind: 'DaemonSet', name: 'kube-proxy' },
});

class FakeCluster implements KubernetesCluster {
  constructor(
    private readonly world: FakeWorld,
    private readonly pass: Passage,
  ) {}

  failingChecks(): Promise<readonly string[]> {
    return this.pass('readyz', () => []);
  }

  nodes(): Promise<readonly NodeView[]> {
    return this.pass('list nodes', () =>
      [...this.world.nodes].map((name) => ({
        name,
        ready: this.world.network && !this.world.unreachable.has(name),
        message: '',
        kubeletVersion: 'v1.34.4',
        cordonedBy: null,
      })),
    );
  }

  staticPods(): Promise<readonly StaticPodView[]> {
    const ofKubeadm = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
    const componentsOf = ({ etcd, etcdctl }: FakeHost): readonly string[] =>
      etcd === null ? ['etcd', ...ofKubeadm] : etcdctl ? ['etcdctl', ...ofKubeadm] : ofKubeadm;
    return this.pass('list static pods', () =>
      [...this.world.hosts]
        .filter(([, { joinedAs }]) => joinedAs === 'control-plane')
        .flatMap(([node, host]) =>
          componentsOf(host).map((component) => ({ node, labels: { component }, ready: true })),
        ),
    );
  }

  apiServerAddresses(): Promise<readonly string[]> {
    return this.pass('list API servers', () => this.world.addresses());
  }

  // Add-ons have a separate simulation: no release is applied here.
  placed(manifests: readonly Manifest[]): Promise<readonly Manifest[]> {
    return this.pass('place', () => manifests);
  }

  differences(): Promise<readonly string[]> {
    return this.pass('compare', () => []);
  }

  deleteObjects(): Promise<void> {
    return this.pass('delete objects', () => undefined);
  }

  async apply(manifests: readonly Manifest[]): Promise<void> {
    await this.pass('apply', () => {
      const words = ['apply', ...manifests.map(({ kind }) => `apply ${kind}`)]
        .map((what) => this.world.failing.get(what))
        .find((failing) => failing !== undefined);
      if (words !== undefined) throw new ExternalFailure({ operation: 'apply', target: 'demo', message: words });
      if (manifests.some(({ kind }) => kind === 'DaemonSet')) this.world.network = true;
      for (const { kind, metadata, subjects } of manifests)
        if (kind === 'ClusterRoleBinding')
          this.world.bindings.set(
            metadata.name,
            (subjects as readonly { name: string }[]).map(({ name }) => name),
          );
    });
  }

  setNodeMetadata(node: string, change: NodeMetadataChange): Promise<boolean> {
    return this.pass('set labels', () => this.world.setMetadata(node, change));
  }

  async label(node: string, labels: Readonly<Record<string, string>>): Promise<void> {
    await this.pass('label', () => {
      const kept = this.world.labels.get(node) ?? [];
      this.world.labels.set(node, new Map([...kept, ...Object.entries(labels)]));
    });
  }

  async configMap() {
    return this.pass('read ConfigMap', () => ({ ClusterConfiguration: 'kubernetesVersion: v1.34.4' }));
  }

  async workload() {
    return this.pass('read workload', () => {
      const nodes = [...this.world.nodes];
      const ready = nodes.filter((name) => !this.world.unreachable.has(name)).length;
      return { version: 'v1.0.0', desired: nodes.length, ready };
    });
  }

  async untaint(): Promise<void> {
    await this.pass('untaint', () => undefined);
  }

  async uncordon(node: string): Promise<void> {
    await this.pass('uncordon', () => this.world.cordoned.delete(node));
  }

  cordon(node: string): Promise<boolean | undefined> {
    return this.pass('cordon', () => {
      if (!this.world.nodes.has(node)) return undefined;
      this.world.cordoned.add(node);
      return true;
    });
  }

  beginDrain(node: string): Promise<number | undefined> {
    return this.pass('begin a drain', () => (this.world.nodes.has(node) ? 0 : undefined));
  }

  async node(name: string) {
    return (await this.nodes()).find((node) => node.name === name);
  }

  podsOn(node: string): Promise<readonly PlacedPod[]> {
    return this.pass('list pods', () => [
      proxyOn(node),
      ...['web-1', 'web-2', 'web-3'].map((name) => podOn(node, name)).filter(({ uid }) => !this.world.evicted.has(uid)),
    ]);
  }

  evict({ uid, name }: PodIdentity): Promise<EvictionAnswer> {
    return this.pass('evict', () => {
      if (this.world.protected.has(name))
        return { answer: 'refused', budget: 'default/web', message: 'the disruption budget web says no' };
      this.world.evicted.add(uid);
      return { answer: 'evicted' };
    });
  }

  async deletePod({ uid }: PodIdentity): Promise<void> {
    await this.pass('delete pod', () => void this.world.evicted.add(uid));
  }

  volumeOf(): Promise<string | undefined> {
    return this.pass('read claim', () => undefined);
  }

  attachedVolumes(): Promise<readonly string[]> {
    return this.pass('list volume attachments', () => []);
  }

  async deleteNode(node: string): Promise<void> {
    await this.pass('delete node', () => {
      const words = this.world.failing.get(`delete node/${node}`);
      if (words !== undefined) throw new ExternalFailure({ operation: 'delete node', target: node, message: words });
      this.world.nodes.delete(node);
    });
  }

  releaseOutside(): Promise<readonly string[]> {
    return this.pass('release what is outside', () => {
      const found = [...this.world.outside];
      for (const one of found) if (!this.world.unreleased.has(one)) this.world.outside.delete(one);
      return found;
    });
  }

  async signClientCertificate({ csr, ttlSeconds }: SigningRequest): Promise<string> {
    const certificate = await authority.sign(csr, SIGNED_AT, ttlSeconds);
    return this.pass('sign', () => {
      const words = this.world.failing.get('sign');
      if (words !== undefined) throw new ExternalFailure({ operation: 'sign', target: 'demo', message: words });
      this.world.signed.push(csr);
      return Buffer.from(certificate).toString('base64');
    });
  }
}

export class FakeKubernetes implements KubernetesApi {
  constructor(
    private readonly world: FakeWorld,
    private readonly pass: Passage,
  ) {}

  of(_access: KubernetesAccess): Promise<KubernetesCluster> {
    return Promise.resolve(new FakeCluster(this.world, this.pass));
  }

  forget(): void {
    // Nothing to close.
  }

  close(): void {
    // Nothing to close.
  }
}

export class MemorySecrets extends Secrets {
  override readonly values = new Map([['infra-svc.ssh-key.lab', { value: FIRST_KEY, owner: 'shared' }]]);
}
