import type { AgentProfile, NodeChange, SoftwareVersions } from '@fairlead/contracts';
import type { AgentFact } from '../node/agent.facts.js';
import { node, uid } from '../agent/agent.fixtures.js';
import type { CommandResult, HostPort } from '../node/host.ports.js';
import type { Desired } from '../node/desired.state.js';
import type { HostSoftware } from '../software/host.software.js';
import type { InstalledPackage } from '../software/package.driver.js';
import { NodeChanges } from './change.effects.js';
import { ChangeStore } from './change.store.js';
import { PATCHES_FOLDER } from './emulated.version.js';

export const OWN = 'https://10.0.0.1:6443';
export const BALANCED = 'https://10.0.0.100:6443';
export const WANTED: SoftwareVersions = {
  containerd: '1.7.24',
  kubelet: '1.34.4',
  kubeadm: '1.34.4',
  kubectl: '1.34.4',
};

export const change = (over: Partial<NodeChange> = {}): NodeChange => ({
  id: 'u-0123456789/op-02',
  kubeadm: 'apply',
  kubernetes: 'v1.34.4' as NodeChange['kubernetes'],
  renewCertificates: true,
  reboot: true,
  balancedEndpoint: BALANCED,
  stopApiServerFirst: false,
  emulatedVersion: null,
  ...over,
});

export const desired = (over: Partial<Desired> = {}): Desired => ({
  revision: 2,
  software: WANTED,
  changesAllowed: true,
  change: change(),
  event: null,
  ...over,
});

const KUBELET_PORT = ':10248';
const MANIFESTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
const API_SERVER_MANIFEST =
  'metadata:\n  annotations:\n    kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint: 10.0.0.1:6443\n';
const CLUSTER_CONFIGURATION =
  'apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nkubernetesVersion: v1.33.13\n';
const NEW_MANIFESTS = '/etc/kubernetes/fairlead-manifests';
const ETCD_MANIFEST = '/etc/kubernetes/manifests/etcd.yaml';
const MEMBER = '/var/lib/etcd/member';
const YOUNG_ETCD = [
  '    - --data-dir=/var/lib/etcd',
  '    - --initial-advertise-peer-urls=https://10.0.0.1:2380',
  '    - --name=demo-cp-1',
  '    - --snapshot-count=10000',
  '    image: registry.k8s.io/etcd:3.5.35-0',
  '',
].join('\n');

const ok: CommandResult = { code: 0, stdout: '', stderr: '' };

/** A power failure: at the operation of that number, before it takes effect or right after. */
export interface PowerCut {
  readonly at: number;
  readonly when: 'before' | 'after';
}

interface Waiting {
  readonly sleep?: (ms: number) => Promise<void>;
  readonly answers?: boolean;
}

/**
 * A control plane reduced to files, commands and a boot ID. Its power may fail at any operation, and nothing happens
 * after that.
 */
export class ModelHost {
  readonly files = new Map<string, string>([
    ['/etc/kubernetes/kubelet.conf', `clusters:\n- cluster:\n    server: ${OWN}\n  name: demo\n`],
    ['/etc/kubernetes/super-admin.conf', 'secret'],
    ...MANIFESTS.map((name) => [`/etc/kubernetes/manifests/${name}.yaml`, `${name} v1`] as const),
  ]);
  readonly commands: string[] = [];
  /** Manifests that the kubelet had not seen before, in order. */
  readonly starts: string[] = [];
  private readonly seen = new Map<string, string>();
  /** Each started kubelet: its version, the API server that it uses, and how many static pods it found. */
  readonly kubelets: string[] = [];
  /** The minor versions of etcd 3.x in the order in which they started. */
  readonly etcdMinors: number[] = [];
  readonly facts: AgentFact[] = [];
  readonly manifestsAtSleep: (readonly string[])[] = [];
  readonly manifestsAfterRename: (readonly string[])[] = [];
  readonly versions = new Map<string, string>([['kubelet', '1.33.13']]);
  boots = 1;
  bootedAt = new Date('2026-01-01T00:00:00.000Z');
  profile: AgentProfile = {};
  /**
   * Static pods that the kubelet does not stop: they keep running without a manifest until something else ends them.
   */
  readonly unstopped = new Set<string>();
  /** Static pods whose manifest has this image never respond. */
  mute = 'nothing';
  /** Has kubeadm's own manifests, for which the new kubeadm can generate new ones ahead. */
  get asByKubeadm(): this {
    this.files.set('/etc/kubernetes/manifests/kube-apiserver.yaml', API_SERVER_MANIFEST);
    this.files.set('/etc/kubernetes/manifests/etcd.yaml', '    - --name=demo-cp-1\n');
    this.files.set('/etc/kubernetes/admin.conf', CLUSTER_CONFIGURATION);
    return this;
  }

  /** Has an etcd 3.5 with few entries: it has a log, but never wrote a snapshot. */
  get withYoungEtcd(): this {
    this.files.set(ETCD_MANIFEST, YOUNG_ETCD);
    this.files.set(`${MEMBER}/wal/0.wal`, 'entries');
    return this;
  }

  operations = 0;
  cut: PowerCut | undefined;
  /** Failures of commands, by prefix; the others succeed. */
  readonly failing = new Map<string, string>();
  /** Files that commands write, by prefix of the command. */
  readonly writing = new Map<string, readonly [path: string, text: string]>();
  /** Output of commands, by prefix. */
  readonly printing = new Map<string, string>();
  private isOff = false;
  private life = 0;
  private powerGoes: () => void = () => undefined;
  off: Promise<void> = new Promise((resolve) => (this.powerGoes = resolve));

  /** The power is back: the same disk, and the same boot ID unless the host was asked to reboot. */
  powerOn(cut?: PowerCut): void {
    this.isOff = false;
    this.life += 1;
    this.operations = 0;
    this.cut = cut;
    this.off = new Promise((resolve) => (this.powerGoes = resolve));
  }

  get server(): string | undefined {
    return /server: (\S+)/.exec(this.files.get('/etc/kubernetes/kubelet.conf') ?? '')?.[1];
  }

  /** The existing manifests of the kubelet's static pods. */
  get manifests(): readonly string[] {
    return MANIFESTS.filter((name) => this.files.has(`/etc/kubernetes/manifests/${name}.yaml`));
  }

  /** An agent of an earlier life receives no more results. */
  private operate<T>(life: number, effect: () => T): Promise<T> {
    if (this.isOff || life !== this.life) return new Promise<never>(() => undefined);
    this.operations += 1;
    const isHere = this.cut?.at === this.operations;
    if (isHere && this.cut?.when === 'before') return this.goOff();
    const result = effect();
    if (isHere) return this.goOff();
    return this.isOff ? new Promise<never>(() => undefined) : Promise.resolve(result);
  }

  private goOff(): Promise<never> {
    this.isOff = true;
    this.powerGoes();
    return new Promise<never>(() => undefined);
  }

  private portOf(life: number): HostPort {
    const operate = <T>(effect: () => T): Promise<T> => this.operate(life, effect);
    return {
      at: (path) => path,
      run: (command, args) => operate(() => this.execute([command, ...args].join(' '))),
      readFile: (path) => Promise.resolve(this.files.get(path)),
      writeFile: (path, text) => operate(() => void this.files.set(path, text)),
      rename: (from, to) =>
        operate(() => {
          this.files.set(to, this.files.get(from) ?? '');
          this.files.delete(from);
          if (to.startsWith('/etc/kubernetes/manifests/')) this.manifestComes(to);
          if (to === ETCD_MANIFEST) this.etcdStarts();
          this.manifestsAfterRename.push(this.manifests);
        }),
      exists: (path) => Promise.resolve(this.files.has(path)),
      bootId: () => Promise.resolve(this.bootId),
      watch: () => Promise.resolve(undefined),
      bootedAt: () => Promise.resolve(this.bootedAt),
      osRelease: () => Promise.resolve('Debian'),
      kernel: () => Promise.resolve('6.1'),
    };
  }

  private manifestComes(path: string): void {
    const text = this.files.get(path) ?? '';
    const before = this.seen.get(path);
    this.seen.set(path, text);
    if (text !== before && /:v1\.34|3\.6\./.test(text)) this.starts.push(/([\w-]+)\.yaml$/.exec(path)?.[1] ?? '');
  }

  /** etcd writes a snapshot if its log is longer than its limit; this log has 600 entries. */
  private etcdStarts(): void {
    const manifest = this.files.get(ETCD_MANIFEST) ?? '';
    const [, minor] = /image: \S+:3\.(\d+)/.exec(manifest) ?? [];
    if (minor !== undefined) this.etcdMinors.push(Number(minor));
    if (Number(/--snapshot-count=(\d+)/.exec(manifest)?.[1]) < 600) this.files.set(`${MEMBER}/snap/0.snap`, 'members');
  }

  /** Like `find`: files below a folder by suffix. */
  private found(line: string): string {
    const [, folder = '', end = ''] = /^find (\S+) .*-name \*(\S+)/.exec(line) ?? [];
    return [...this.files.keys()].find((path) => path.startsWith(`${folder}/`) && path.endsWith(end)) ?? '';
  }

  get bootId(): string {
    return `boot-${this.boots}`;
  }

  private installed(names: readonly string[]): ReadonlyMap<string, InstalledPackage> {
    return new Map(
      names.flatMap((name) => {
        const version = this.versions.get(name);
        return version === undefined ? [] : [[name, { version, held: true }] as const];
      }),
    );
  }

  private softwareOf(life: number): HostSoftware {
    const install = (packages: SoftwareVersions): Promise<void> =>
      this.operate(life, () => {
        this.commands.push(`install ${Object.keys(packages).join(' ')} [${this.server}]`);
        for (const [name, version] of Object.entries(packages)) this.versions.set(name, version);
      });
    const packages = {
      install,
      installed: (names: readonly string[]) => Promise.resolve(this.installed(names)),
      stage: () => Promise.resolve(),
      program: (name: string, version: string) => Promise.resolve(`/unpacked/${name}-${version}`),
    };
    return {
      packages,
      require: () => Promise.resolve(),
      view: () => ({ stages: [], packages }),
      stage: () => this.operate(life, () => void this.commands.push('stage')),
      begin: () => Promise.resolve(),
      etcdutl: () => Promise.resolve(undefined),
    };
  }

  /** `answers`: every static pod keeps responding, even without its manifest. */
  changes({ sleep = () => Promise.resolve(), answers = false }: Waiting = {}): NodeChanges {
    const log = (): void => undefined;
    const { life } = this;
    const port = this.portOf(life);
    return new NodeChanges({
      identity: { uid, node },
      host: port,
      software: this.softwareOf(life),
      profile: this.profile,
      removeFile: (path) => this.operate(life, () => void this.files.delete(path)),
      store: new ChangeStore(port, log),
      say: (facts) => this.operate(life, () => void this.facts.push(...facts)),
      // The kubelet, and every pod with a manifest, respond at once.
      ask: (url) => {
        const name = MANIFESTS[[':2381', ':6443', ':10257', ':10259'].findIndex((port) => url.includes(port))] ?? '';
        const isMute = this.files.get(`/etc/kubernetes/manifests/${name}.yaml`)?.includes(this.mute) === true;
        return Promise.resolve(
          !isMute &&
            (answers || url.includes(KUBELET_PORT) || this.manifests.includes(name) || this.unstopped.has(name))
            ? { kind: 'answered', status: 200 }
            : { kind: 'silent', message: 'refused' },
        );
      },
      now: () => new Date('2026-06-01T00:00:00.000Z'),
      sleep: (ms) => {
        this.manifestsAtSleep.push(this.manifests);
        return sleep(ms);
      },
      log,
    });
  }

  /** The manifests that the new kubeadm generates from the given configuration. */
  private writeNewManifests(line: string): void {
    const version = /kubernetesVersion: (\S+)/.exec(this.files.get('/etc/kubernetes/fairlead-kubeadm.yaml') ?? '')?.[1];
    const patched = this.files.get('/etc/kubernetes/fairlead-kubeadm.yaml')?.includes('patches:') === true;
    const names = line.includes('phase etcd') ? ['etcd'] : MANIFESTS.filter((name) => name !== 'etcd');
    for (const name of names) {
      const own = this.files.get(`/etc/kubernetes/manifests/${name}.yaml`) ?? '';
      const bare = own
        .replace(/ *image: .*\n/, '')
        .replace(/snapshot-count=\d+/, 'snapshot-count=10000')
        .replace(/flag: .*\n/, '');
      const [, flag] = /"value":"([^"]+)"/.exec(this.files.get(`${PATCHES_FOLDER}/${name}+json.json`) ?? '') ?? [];
      const image = name === 'etcd' && own.includes('etcd:3.') ? 'registry.k8s.io/etcd:3.6.8-0' : `${name}:${version}`;
      const flags = patched && flag !== undefined ? `flag: ${flag}\n` : '';
      this.files.set(`${NEW_MANIFESTS}/${name}.yaml`, `${bare}    image: ${image}\n${flags}`);
    }
  }

  /** A static pod runs as long as its manifest exists. */
  private containers(line: string): string {
    const [, asked] = /name"==([\w-]+)/.exec(line) ?? [];
    const running = MANIFESTS.filter((name) => this.manifests.includes(name) || this.unstopped.has(name));
    const names = running.filter((name) => asked === undefined || name === asked);
    return names.map((name) => (line.includes(' tasks ls') ? `${name} 100 RUNNING` : name)).join('\n');
  }

  private execute(line: string): CommandResult {
    this.commands.push(line.startsWith('kubeadm upgrade') ? `${line} [${this.server}]` : line);
    const [, words] = [...this.failing].find(([beginning]) => line.startsWith(beginning)) ?? [];
    if (words !== undefined) return { code: 1, stdout: '', stderr: words };
    const [, written] = [...this.writing].find(([beginning]) => line.startsWith(beginning)) ?? [];
    if (written !== undefined) this.files.set(...written);
    const [, printed] = [...this.printing].find(([beginning]) => line.startsWith(beginning)) ?? [];
    if (printed !== undefined) return { ...ok, stdout: printed };
    if (line.startsWith('kubectl')) return { ...ok, stdout: this.files.get('/etc/kubernetes/admin.conf') ?? '' };
    if (line.includes(' init phase ')) this.writeNewManifests(line);
    if (line.startsWith('find ')) return { ...ok, stdout: this.found(line) };
    if (line.includes(' tasks kill ')) this.unstopped.delete(line.split(' ').at(-1) ?? '');
    if (line.startsWith('ctr ')) return { ...ok, stdout: this.containers(line) };
    if (line === 'systemctl restart kubelet')
      this.kubelets.push(`${this.versions.get('kubelet')} at ${this.server}, ${this.manifests.length} static pods`);
    if (line === 'systemctl reboot') {
      this.boots += 1;
      this.goOff().catch(() => undefined);
    }
    return ok;
  }
}

/** Phases and their status, as in the events. */
export const reported = (facts: readonly AgentFact[]): readonly string[] =>
  facts.flatMap((fact) =>
    fact.type === 'NodeChangeProgressed' ? [`${fact.data.phase} ${fact.data.status} ${fact.data.attempt}`] : [],
  );
