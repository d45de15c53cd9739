import { WorldFailure, type ClusterUid, type SecretRef, type StoredEvent } from '@fairlead/contracts';
import type { KubernetesAccess } from '@fairlead/kubernetes';
import type { StepInputs, StepName } from '@fairlead/node-scripts';
import type { SecretStore } from '@fairlead/service-kit';
import { CertificateAuthority } from '../../../libs/lab/src/kubernetes/certificates/certificate.authority.js';
import { kubeconfigText } from '../../../libs/lab/src/kubernetes/certificates/kubeconfig.js';
import type { HostAddress, HostScript, HostSession, HostShell, ScriptOutput } from '../src/hosts/hosts.ports.js';
import type {
  Evicted,
  KubernetesApi,
  KubernetesCluster,
  Manifest,
  NodeView,
  StaticPodView,
} from '../src/kubernetes/kubernetes.ports.js';
import type { RunningSteps } from '../src/bootstrap/steps.ports.js';

const YEAR_MS = 365 * 24 * 3_600_000;
const ADMINISTRATOR = { commonName: 'kubernetes-admin', organizations: ['system:masters'], usage: 'client' } as const;
const authority = await CertificateAuthority.create(Date.UTC(2026, 0, 20, 10));

/** The API of the clusters of most stories. */
const BALANCED_SERVER = 'https://198.18.7.1:6443';

/** As kubeadm writes it, with a client certificate that ends then. */
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

interface FakeHost {
  agentStarted: boolean;
  bundle: boolean;
  joinedAs: 'control-plane' | 'worker' | null;
  /** The control planes over which it balances the API. */
  balances: readonly string[];
  /** The authority that its etcd member believes in; null: it has none. */
  etcd: string | null;
}

/** What a call to the world goes through: it may be late, lost on the way there, or lost on the way back. */
export type Passage = <T>(what: string, work: () => T) => Promise<T>;

/** Hosts and the cluster on them, as a simulation needs them: what was done, how often, and what was done when it was too early. */
export class FakeWorld {
  readonly hosts = new Map<string, FakeHost>();
  readonly nodes = new Set<string>();
  readonly inits: string[] = [];
  readonly joins: string[] = [];
  readonly credentials: string[] = [];
  /** Those of them that came with the certificates. */
  private readonly certified: string[] = [];
  readonly violations: string[] = [];
  readonly failing = new Map<string, string>();
  readonly unreachable = new Set<string>();
  /** What the hosts answer when their administrator's kubeconfig is asked for. */
  kubeconfig = KUBECONFIG;
  renewed = RENEWED_KUBECONFIG;
  network = false;
  private readonly facts = new Set<string>();
  private indexed = 0;

  constructor(private readonly events: readonly StoredEvent[]) {}

  /** In base64, with the address of this cluster's API, which kubeadm was told. */
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
      etcd: null,
    };
    this.hosts.set(name, host);
    return host;
  }

  /** Is there such a fact in the log (about that node)? */
  said(type: StoredEvent['type'], node?: string): boolean {
    for (; this.indexed < this.events.length; this.indexed += 1) {
      const event = this.events[this.indexed];
      if (event === undefined) break;
      this.facts.add(event.type);
      if ('node' in event.data) this.facts.add(`${event.type}/${event.data.node}`);
    }
    return this.facts.has(node === undefined ? type : `${type}/${node}`);
  }

  /** Carries a step out on a host, as its script would. */
  run<Step extends StepName>(name: string, step: Step, input: StepInputs[Step]): unknown {
    const words = this.failing.get(`${step}/${name}`) ?? this.failing.get(step);
    if (words !== undefined) throw new WorldFailure({ operation: step, target: name, message: words });
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
      verify: () => ({ problems: [] }),
      'kubeadm-init': ({ cluster }) => {
        const changed = host.joinedAs === null;
        this.check(cluster.etcdEndpoints === null || this.said('EtcdReady'), `init on ${name} before its etcd`);
        if (changed) {
          this.check(this.allBootstrapped(), `init on ${name} before every host was fit`);
          this.inits.push(name);
          this.join(name, 'control-plane');
        }
        return { changed, kubeconfig: this.asRead(this.kubeconfig) };
      },
      credentials: ({ certificates }) => {
        this.check(host.joinedAs === 'control-plane', `credentials were asked of ${name}, which is no control plane`);
        const token = `${String(this.credentials.length).padStart(6, '0')}.0123456789abcdef`;
        this.credentials.push(token);
        if (certificates) this.certified.push(token);
        return { token, certificateKey: certificates ? 'cd'.repeat(32) : null };
      },
      'kubeadm-join-control-plane': ({ credentials }) => {
        this.check(this.said('NetworkReady'), `${name} joins before the network`);
        this.check(this.certified.at(-1) === credentials.token, `${name} joins with old credentials`);
        return { ...this.joined(name, 'control-plane'), interrupted: false };
      },
      'kubeadm-join-worker': () => {
        this.check(this.said('NetworkReady'), `${name} joins before the network`);
        this.check(this.said('NodeBootstrapped', name), `${name} joins before it was found fit`);
        return this.joined(name, 'worker');
      },
      'etcd-remove-member': () => ({ changed: true, members: 2 }),
      'kubeadm-reset': () => {
        host.joinedAs = null;
        host.agentStarted = false;
        return { changed: true, left: [] };
      },
      'balance-api': ({ peers }) => {
        host.balances = peers.map((peer) => peer.name);
        return { changed: true };
      },
      'etcd-member': ({ certificates, members }) => {
        this.check(this.allBootstrapped(), `etcd on ${name} before every host was fit`);
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

  private check(holds: boolean, violation: string): void {
    if (!holds) this.violations.push(violation);
  }
}

class FakeSession implements HostSession {
  readonly hostKey = 'SHA256:abc';
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
    // Nothing is kept.
  }
}

export class FakeShell implements HostShell {
  constructor(
    private readonly world: FakeWorld,
    private readonly pass: Passage,
  ) {}

  async open({ name }: HostAddress): Promise<HostSession> {
    await this.pass(`open ${name}`, () => {
      if (!this.world.unreachable.has(name)) return;
      throw new WorldFailure({ operation: 'open SSH', target: name, message: 'no route to host', retryable: false });
    });
    return new FakeSession(this.world, name, this.pass);
  }

  async close(): Promise<void> {
    // Nothing is open.
  }
}

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
        unschedulable: false,
      })),
    );
  }

  staticPods(): Promise<readonly StaticPodView[]> {
    const components = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
    return this.pass('list static pods', () =>
      [...this.world.hosts]
        .filter(([, { joinedAs }]) => joinedAs === 'control-plane')
        .flatMap(([node]) => components.map((component) => ({ node, component, ready: true }))),
    );
  }

  apiServerAddresses(): Promise<readonly string[]> {
    return this.pass('list API servers', () => ['127.0.0.1']);
  }

  async apply(manifests: readonly Manifest[]): Promise<void> {
    await this.pass('apply', () => {
      const words = this.world.failing.get('apply');
      if (words !== undefined) throw new WorldFailure({ operation: 'apply', target: 'demo', message: words });
      if (manifests.some(({ kind }) => kind === 'DaemonSet')) this.world.network = true;
    });
  }

  async label(): Promise<void> {
    await this.pass('label', () => undefined);
  }

  async workload(kind: 'Deployment' | 'DaemonSet', _namespace: string, name: string) {
    return this.pass('read workload', () => ({ kind, name, version: 'v1.0.0', wantedPods: 2, readyPods: 2 }));
  }

  cordon(node: string): Promise<boolean> {
    return this.pass('cordon', () => this.world.nodes.has(node));
  }

  drain(): Promise<Evicted> {
    return this.pass('drain', () => ({ evictedPods: 3, dead: false }));
  }

  async deleteNode(node: string): Promise<void> {
    await this.pass('delete node', () => void this.world.nodes.delete(node));
  }

  releaseLoadBalancers(): Promise<number> {
    return this.pass('release load balancers', () => 0);
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
    // Nothing is open.
  }

  close(): void {
    // Nothing is open.
  }
}

export class MemorySecrets implements SecretStore {
  readonly values = new Map<string, { readonly value: string; readonly owner: string }>([
    ['infra-svc.ssh-key.lab', { value: 'a key', owner: 'shared' }],
  ]);

  async put(ref: SecretRef, value: string, owner: string): Promise<void> {
    this.values.set(ref, { value, owner });
  }

  async get(ref: SecretRef): Promise<string | undefined> {
    return this.values.get(ref)?.value;
  }

  async delete(ref: SecretRef): Promise<void> {
    this.values.delete(ref);
  }

  async destroyKey(owner: string): Promise<void> {
    for (const [ref, secret] of this.values) if (secret.owner === owner) this.values.delete(ref);
  }
}

/** Holds that end only when they are given back, or when the simulation says that their process is gone. */
export class MemoryRunningSteps implements RunningSteps {
  readonly holds = new Map<string, string>();

  async hold(uid: string, step: string, holder: string): Promise<boolean> {
    const key = `${uid}/${step}`;
    if (this.holds.has(key)) return false;
    this.holds.set(key, holder);
    return true;
  }

  async release(uid: string, step: string, holder: string): Promise<void> {
    if (this.holds.get(`${uid}/${step}`) === holder) this.holds.delete(`${uid}/${step}`);
  }

  async others(uid: ClusterUid | string, step: string): Promise<readonly string[]> {
    return [...this.holds.keys()].filter((key) => key.startsWith(`${uid}/`) && key !== `${uid}/${step}`);
  }
}
