import { parseVersion } from '@fairlead/contracts';
import type { CommandCall } from '../commands/command.js';
import { CommandFault } from '../commands/command.js';
import { installedVersion } from '../commands/apt.commands.js';

export interface PreflightRequest {
  readonly phase: 'init' | 'join';
  readonly controlPlane: boolean;
  readonly ignored: readonly string[];
  readonly failSwapOn: boolean;
  /** Without the `v`; undefined if the cluster has no version yet. */
  readonly kubernetesVersion: string | undefined;
  /** With an external etcd, kubeadm ignores data in its own etcd folder. */
  readonly externalEtcd: boolean;
}

interface Problem {
  readonly check: string;
  readonly words: string;
}

/** kubeadm's requirements of a control plane (kubernetes.io, "Before you begin"). */
const CPUS_MIN = 2;
const MEMORY_MIN_MB = 1_700;
const MEMORY_MB_PER_GIB = 1_024;

/** Runs kubeadm's preflight checks. Fails with kubeadm's message if a check fails that is not ignored. */
export const preflight = async (call: CommandCall, request: PreflightRequest): Promise<void> => {
  call.out('[preflight] Running pre-flight checks');
  await call.world.delays('preflight', call.signal);
  const problems = await findProblems(call, request);
  const isIgnored = ({ check }: Problem): boolean =>
    request.ignored.some((ignored) => ignored === 'all' || ignored.toLowerCase() === check.toLowerCase());
  for (const problem of problems.filter(isIgnored)) call.err(`\t[WARNING ${problem.check}]: ${problem.words}`);
  const fatal = problems.filter((problem) => !isIgnored(problem));
  if (fatal.length === 0) return;
  throw new CommandFault(
    [
      `error execution phase preflight: [preflight] Some fatal errors occurred:`,
      ...fatal.map(({ check, words }) => `\t[ERROR ${check}]: ${words}`),
      '[preflight] If you know what you are doing, you can make a check non-fatal with `--ignore-preflight-errors=...`',
      'To see the stack trace of this error execute with --v=5 or higher',
    ].join('\n'),
  );
};

const findProblems = async (call: CommandCall, request: PreflightRequest): Promise<readonly Problem[]> => {
  const { host, world } = call;
  const problems: Problem[] = [];
  const require = (fulfilled: boolean, check: string, words: string): void => {
    if (!fulfilled) problems.push({ check, words });
  };
  if (request.controlPlane) {
    const { cpuCount, memoryGiB } = host.facts;
    const memoryMb = memoryGiB * MEMORY_MB_PER_GIB;
    require(cpuCount >=
      CPUS_MIN, 'NumCPU', `the number of available CPUs ${cpuCount} is less than the required ${CPUS_MIN}`);
    require(memoryMb >=
      MEMORY_MIN_MB, 'Mem', `the system RAM (${memoryMb} MB) is less than the minimum ${MEMORY_MIN_MB} MB`);
    require(!world.clusters.servesApi(host), 'Port-6443', 'Port 6443 is in use');
    for (const file of MANIFEST_FILES) {
      require(!(await host.files.exists(file)), `FileAvailable-${file.replaceAll('/', '-')}`, `${file} already exists`);
    }
    require(request.externalEtcd ||
      !(await host.files.exists('/var/lib/etcd/member')), 'DirAvailable--var-lib-etcd', '/var/lib/etcd is not empty');
  }
  if (request.phase === 'join') {
    for (const file of JOIN_FILES) {
      require(!(await host.files.exists(file)), `FileAvailable-${file.replaceAll('/', '-')}`, `${file} already exists`);
    }
  } else {
    const admin = '/etc/kubernetes/admin.conf';
    require(!(await host.files.exists(
      admin,
    )), `FileAvailable-${admin.replaceAll('/', '-')}`, `${admin} already exists`);
  }
  require(host.record.sysctls['net.ipv4.ip_forward'] ===
    '1', 'FileContent--proc-sys-net-ipv4-ip_forward', '/proc/sys/net/ipv4/ip_forward contents are not set to 1');
  require(!request.failSwapOn ||
    !host.record.swapOn, 'Swap', 'running with swap on is not supported. Please disable swap');
  require(await host.services.isRunning('containerd'), 'CRI', CRI_WORDS);
  requireVersions(call, request, require);
  return problems;
};

const requireVersions = (
  { host }: CommandCall,
  request: PreflightRequest,
  require: (fulfilled: boolean, check: string, words: string) => void,
): void => {
  const kubelet = installedVersion(host, 'kubelet');
  const kubeadm = installedVersion(host, 'kubeadm') ?? '';
  require(kubelet !== undefined, 'FileExisting-kubelet', 'kubelet not found in system path');
  if (request.kubernetesVersion === undefined) return;
  require(minorOf(request.kubernetesVersion) <=
    minorOf(
      kubeadm,
    ), 'KubernetesVersion', `this version of kubeadm only supports deploying clusters with the control plane version >= 1.${minorOf(kubeadm) - 1}.0. Current version: v${request.kubernetesVersion}`);
  if (kubelet === undefined) return;
  require(minorOf(kubelet) <=
    minorOf(
      request.kubernetesVersion,
    ), 'KubeletVersion', `the kubelet version is higher than the control plane version. This is not a supported version skew and may lead to a malfunctional cluster. Kubelet version: "${kubelet}" Control plane version: "${request.kubernetesVersion}"`);
};

const CRI_WORDS =
  'could not connect to the container runtime: failed to create new CRI runtime service: validate service connection: validate CRI v1 runtime API for endpoint ' +
  '"unix:///run/containerd/containerd.sock": rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: no such file or directory"';

const MANIFEST_FILES = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'etcd'].map(
  (pod) => `/etc/kubernetes/manifests/${pod}.yaml`,
);

const JOIN_FILES = ['/etc/kubernetes/kubelet.conf', '/etc/kubernetes/pki/ca.crt'];

export const minorOf = (version: string): number => parseVersion(version)?.minor ?? 0;
