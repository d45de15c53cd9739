import { AGENT_PATHS, EXTERNAL_ETCD } from '@fairlead/contracts';
import {
  AUTHENTICATION_FILE,
  agentUnit,
  ETCD_CLIENT,
  etcdctlPod,
  etcdUnit,
  initConfig,
  joinControlPlaneConfig,
  joinWorkerConfig,
  type ClusterSettings,
  type EtcdCertificates,
  type StepInputs,
  type StepName,
  type StepResults,
  type VerifySnapshotResult,
  VERIFIED_SNAPSHOT,
} from '@fairlead/node-scripts';
import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Blobs } from '../files/blobs.js';
import type { MemoryFiles } from '../files/memory.files.js';
import type { Host } from '../hosts/host.js';
import { AUTHORIZED_KEYS, authorizedKeysIn } from '../ssh/authorized.keys.js';
import { scratchEtcdOf } from '../commands/scratch.etcd.js';
import type { AgentCommandResult } from './agent.programs.js';

/** A failed step of a light host, with a message on standard error and an exit code like its script. */
export class StepFault extends Error {
  constructor(
    message: string,
    readonly exitCode = 1,
  ) {
    super(message);
    this.name = 'StepFault';
  }
}

export interface LightHost {
  readonly host: Host;
  readonly files: MemoryFiles;
  readonly blobs: Blobs;
  /** Runs a simulated command. */
  run(...words: readonly string[]): Promise<AgentCommandResult>;
}

const { dirname } = posix;

type Steps = { readonly [Step in StepName]: (light: LightHost, input: StepInputs[Step]) => Promise<StepResults[Step]> };

const AGENT_UNIT = 'fairlead-agent.service';
const AGENT_STARTED = '/var/lib/fairlead/agent.started';
const SUPER_ADMIN_CONF = '/etc/kubernetes/super-admin.conf';
const INIT_CONFIG = '/etc/fairlead/kubeadm-init.yaml';
const JOIN_CONFIG = '/run/fairlead/kubeadm-join.yaml';
const ADMIN_CONF = '/etc/kubernetes/admin.conf';
const KUBELET_CONF = '/etc/kubernetes/kubelet.conf';
const ETCD_UNIT_FILE = `/etc/systemd/system/${EXTERNAL_ETCD.unit}`;
const PRIVATE = 0o600;
const PUBLIC = 0o644;
const MIB_PER_GIB = 1_024;
/** A light host never keeps anything that would let its previous user log in again. */
const NOTHING = createHash('sha256').digest('hex').slice(0, 32);
const LIGHT_BASELINE = {
  sshKeys: NOTHING,
  sshServer: NOTHING,
  accounts: NOTHING,
  jobs: NOTHING,
  units: NOTHING,
  runtime: NOTHING,
};
/** Simulated facts of the machine; only the files are real. */
const LIGHT_FACTS = {
  user: '0',
  hasSystemd: true,
  machine: 'x86_64',
  kernel: '6.12.0-lab',
  cgroup: 'v2',
  machineId: '',
  productUuid: '',
  addresses: [],
  units: [],
  devices: [],
  containers: [],
  rules: [],
  ports: [],
  folders: [],
  answering: [],
};
const KILLED_EXIT_CODE = 137;
/** Of lab-connect: a fault drops the connection. */
const SILENT = 124;
const MS_PER_SECOND = 1_000;
/** How many lines of a failed command's output a script repeats. */
const WORDS_LINES_MAX = 40;

/** Runs a command that must succeed. The step fails with the last lines of its output. */
const must = async ({ run }: LightHost, ...words: readonly string[]): Promise<string> => {
  const { code, stdout, stderr } = await run(...words);
  if (code === 0) return stdout;
  const said = `${stdout}${stderr}`.trimEnd().split('\n').slice(-WORDS_LINES_MAX).join('\n');
  throw new StepFault(said, code ?? 1);
};

const marker = (kind: string, uid: string): string => `/var/lib/fairlead/${kind}.${uid}`;

/** The same cleanup of an interrupted kubeadm as in the scripts. */
const cleanKubeadm = async (light: LightHost): Promise<void> => {
  await must(light, 'kubeadm', 'reset', '--force');
};

/**
 * Light hosts behave as if created from an image that contains the agent: once one host was given a program, all hosts
 * have it. Only the first host of a lab takes the full path with an upload, and a thousand hosts do not receive the
 * same megabyte a thousand times.
 */
const hasAgent = ({ files, blobs }: LightHost, sha256: string): boolean => {
  const present = files.readBytes(AGENT_PATHS.program);
  if (present !== undefined && blobs.nameOf(present) === sha256) return true;
  const program = blobs.find(sha256);
  if (program !== undefined) files.place(AGENT_PATHS.program, program, PUBLIC);
  return program !== undefined;
};

/** The steps without a shell: the same commands, files and results as their scripts. */
export const LIGHT_STEPS: Steps = {
  prepare: async (light, { agent, config, credentials }) => {
    const { files } = light;
    if (!hasAgent(light, agent.sha256)) return { agent: 'missing', node: 'present', bundle: 'present' };
    const unit = agentUnit();
    const configText = `${JSON.stringify(config, null, 2)}\n`;
    await files.writeText(AGENT_PATHS.config, configText, PRIVATE);
    if (credentials !== null) await files.writeText(AGENT_PATHS.credentials, credentials, PRIVATE);
    await files.writeText(AGENT_PATHS.unit, unit, PUBLIC);
    const identity = createHash('sha256').update(agent.sha256).update(configText).update(unit).digest('hex');
    const isActive = (await light.run('systemctl', 'is-active', '--quiet', AGENT_UNIT)).code === 0;
    if (!isActive || (await files.readText(AGENT_STARTED)) !== identity) {
      await must(light, 'systemctl', 'enable', AGENT_UNIT);
      await must(light, 'systemctl', 'restart', AGENT_UNIT);
      await files.writeText(AGENT_STARTED, identity);
    }
    return { agent: 'started', node: 'present', bundle: 'present' };
  },

  verify: async ({ host, run }, { kubernetesVersion, failSwapOn }) => {
    const problems: string[] = [];
    const kubeadm = (await run('kubeadm', 'version', '-o', 'short')).stdout.trim();
    if (kubeadm !== kubernetesVersion) problems.push(`kubeadm is ${kubeadm || 'missing'}, not ${kubernetesVersion}`);
    const kubelet = (await run('kubelet', '--version')).stdout.trim().split(' ')[1] ?? '';
    if (kubelet !== kubernetesVersion) problems.push(`kubelet is ${kubelet || 'missing'}, not ${kubernetesVersion}`);
    if ((await run('systemctl', 'is-active', '--quiet', 'containerd')).code !== 0) {
      problems.push('the container runtime does not listen at /run/containerd/containerd.sock');
    }
    if (failSwapOn && host.record.swapOn) problems.push('swap is on');
    return { problems };
  },

  'kubeadm-init': async (light, { uid, cluster, node, schedulable }) => {
    const { files } = light;
    const started = marker('kubeadm-init', uid) + '.started';
    const finished = marker('kubeadm-init', uid) + '.finished';
    const changed = !(await files.exists(finished));
    if (changed) {
      const begun = await files.exists(started);
      if (!begun && (await files.exists(ADMIN_CONF))) {
        throw new StepFault(
          'this host is a control plane already (/etc/kubernetes/admin.conf exists): refusing to initialise it again',
        );
      }
      if (begun) await cleanKubeadm(light);
      if (begun && cluster.etcdEndpoints !== null) await must(light, 'etcdctl', 'del', '', '--prefix');
      await files.writeText(started, '');
      await writeAuthentication(files, cluster);
      await files.writeText(INIT_CONFIG, initConfig(cluster, { ...node, schedulable }), PRIVATE);
      await must(light, 'kubeadm', 'init', '--config', INIT_CONFIG).finally(() => files.removeTree(INIT_CONFIG));
      await files.writeText(finished, '');
    }
    await files.removeTree(SUPER_ADMIN_CONF);
    const kubeconfig = await files.readText(ADMIN_CONF);
    if (kubeconfig === undefined) {
      throw new StepFault('/etc/kubernetes/admin.conf is gone from a control plane that was initialised');
    }
    return { changed, kubeconfig: Buffer.from(kubeconfig).toString('base64') };
  },

  credentials: async (light, { tokenTtlSeconds, certificates }) => {
    const token = (await must(light, 'kubeadm', 'token', 'create', '--ttl', `${tokenTtlSeconds}s`)).trim();
    if (!certificates) return { token, certificateKey: null };
    const uploaded = await must(light, 'kubeadm', 'init', 'phase', 'upload-certs', '--upload-certs');
    const certificateKey = uploaded.split('\n').findLast((line) => /^[0-9a-f]{64}$/.test(line));
    if (certificateKey === undefined) throw new StepFault('kubeadm init phase upload-certs printed no certificate key');
    return { token, certificateKey };
  },

  'kubeadm-join-control-plane': async (light, { uid, cluster, node, credentials, afterInterruption }) => {
    const begun = await light.files.exists(`${marker('kubeadm-join', uid)}.started`);
    const finished = await light.files.exists(`${marker('kubeadm-join', uid)}.finished`);
    if (begun && !finished && !afterInterruption) return { changed: false, interrupted: true };
    await writeAuthentication(light.files, cluster);
    const { changed } = await join(light, uid, joinControlPlaneConfig(cluster, node, credentials));
    return { changed, interrupted: false };
  },

  'kubeadm-join-worker': (light, { uid, cluster, node, credentials }) =>
    join(light, uid, joinWorkerConfig(cluster, node, credentials)),

  'etcd-remove-member': async (light, { member, address, self, external }) => {
    const inPod = ['kubectl', '--namespace', 'kube-system', 'exec', `etcd-${self}`, '--', 'etcdctl'];
    const etcd = external ? ['etcdctl'] : inPod;
    const members = (await must(light, ...etcd, 'member', 'list')).trim().split('\n');
    const peer = `https://${address}:2380`;
    const found = members.map((line) => line.split(', ')).find(([, , name, url]) => name === member || url === peer);
    if (found?.[0] === undefined) return { changed: false, members: members.length };
    const health = (await light.run(...etcd, 'endpoint', 'health', '--cluster')).stdout;
    const others = members.map((line) => line.split(', ')).filter(([id]) => id !== found[0]);
    const survivors = others.filter(([, , , , client]) => health.includes(`${client} is healthy`)).length;
    const needed = Math.floor(others.length / 2) + 1;
    if (survivors < needed) {
      throw new StepFault(
        `removing etcd member ${member} would leave ${survivors} healthy of ${others.length}, and ${needed} are needed`,
      );
    }
    await must(light, ...etcd, 'member', 'remove', found[0]);
    return { changed: true, members: others.length };
  },

  'etcd-member': async (light, { uid, image, version, self, members, joins, certificates }) => {
    const { files } = light;
    const started = `${marker('etcd', uid)}.started`;
    if (!(await files.exists(started)) && (await files.exists(`${EXTERNAL_ETCD.data}/member`))) {
      throw new StepFault(`there are data of another etcd in ${EXTERNAL_ETCD.data}: refusing to begin a new one there`);
    }
    if (!(await files.exists(started))) await files.writeText(started, '');
    const isWhole = (await files.readText(`${EXTERNAL_ETCD.pki}/ca.crt`)) === certificates.ca;
    if (!isWhole) await writeEtcdCertificates(files, certificates);
    const unit = etcdUnit({ token: uid, version, self, members, joins });
    await files.writeText(`${EXTERNAL_ETCD.programs}/image`, image);
    await files.writeText(ETCD_UNIT_FILE, unit, PUBLIC);
    const identity = createHash('sha256').update(unit).update(image).update(certificates.ca).digest('hex');
    if ((await files.readText(started)) === identity) return { changed: false };
    await must(light, 'systemctl', 'enable', EXTERNAL_ETCD.unit);
    await must(light, 'systemctl', 'restart', '--no-block', EXTERNAL_ETCD.unit);
    await files.writeText(started, identity);
    return { changed: true };
  },

  'etcd-health': async (light, { members }) => {
    const started = (await must(light, 'etcdctl', 'member', 'list')).match(/, started, /g)?.length ?? 0;
    const { stdout, stderr } = await light.run('etcdctl', 'endpoint', 'health', '--cluster');
    const healthy = `${stdout}${stderr}`.match(/ is healthy/g)?.length ?? 0;
    if (started === members && healthy === members) return { members };
    throw new StepFault(`${started} of ${members} members of etcd have started, and ${healthy} are healthy: ${stderr}`);
  },

  'etcd-add-member': async (light, { name, address }) => {
    const peer = `https://${address}:2380`;
    const list = async (): Promise<readonly string[][]> =>
      (await must(light, 'etcdctl', 'member', 'list'))
        .trim()
        .split('\n')
        .map((line) => line.split(', '));
    const before = await list();
    const other = before.find(([, , called, url]) => url === peer && called !== '' && called !== name)?.[2];
    if (other !== undefined) throw new StepFault(`etcd has a member ${other} at ${peer} already`);
    const isKnown = before.some(([, , , url]) => url === peer);
    if (!isKnown) await must(light, 'etcdctl', 'member', 'add', name, '--learner', `--peer-urls=${peer}`);
    const members = (await list()).map(([id = '', , called = '', peerUrl = '']) => ({
      name: peerUrl === peer ? name : called || id,
      peerUrl,
    }));
    return { changed: !isKnown, members };
  },

  'etcd-promote-member': async (light, { address }) => {
    const peer = `https://${address}:2380`;
    const lines = (await must(light, 'etcdctl', 'member', 'list')).trim().split('\n');
    const [id = '', , , , , learner] = lines.map((line) => line.split(', ')).find(([, , , url]) => url === peer) ?? [];
    if (learner === 'true') await must(light, 'etcdctl', 'member', 'promote', id);
    return { members: lines.length };
  },

  'node-exec': async ({ run }, { command }) => {
    const { code, stdout, stderr } = await run(...command);
    return {
      exitCode: code ?? KILLED_EXIT_CODE,
      stdout: Buffer.from(stdout).toString('base64'),
      stderr: Buffer.from(stderr).toString('base64'),
      stdoutBytes: Buffer.byteLength(stdout),
      stderrBytes: Buffer.byteLength(stderr),
    };
  },

  'node-log': async (light, { unit, after, lines, waitSeconds }) => {
    const from = after?.cursor ?? null;
    const asked = from === null ? ['--lines', String(lines)] : ['--after-cursor', from];
    const read = (): Promise<string> => must(light, 'journalctl', '--quiet', '--unit', unit, '--show-cursor', ...asked);
    for (let waited = 0; ; waited += 1) {
      const [, text = '', cursor = null] = /^([^]*?)(?:-- cursor: (\S+)\n)?$/.exec(await read()) ?? [];
      if (text === '' && after !== null && waited < waitSeconds) {
        await sleep(MS_PER_SECOND);
        continue;
      }
      const position = { cursor: cursor ?? from, time: Math.floor(Date.now() / MS_PER_SECOND) };
      return { text: Buffer.from(text).toString('base64'), skipped: 0, position };
    }
  },

  etcdctl: async ({ files }) => {
    if (await files.exists(EXTERNAL_ETCD.pod)) return { changed: false };
    const image = await files.readText(`${EXTERNAL_ETCD.programs}/image`);
    if (image === undefined) throw new StepFault('this host has no member of an external etcd');
    await files.writeText(EXTERNAL_ETCD.pod, etcdctlPod(image), PRIVATE);
    return { changed: true };
  },

  'authorized-keys': async ({ files }, { add, remove }) => {
    const blobOf = (line: string): string | undefined => line.split(' ')[1];
    const gone = new Set(remove.map(blobOf));
    const before = await authorizedKeysIn(files);
    const kept = before.filter((line) => !gone.has(blobOf(line)));
    const after = add === null || kept.includes(add) ? kept : [...kept, add];
    await files.writeText(AUTHORIZED_KEYS, after.map((line) => `${line}\n`).join(''), PRIVATE);
    return { changed: after.join() !== before.join() };
  },

  authentication: async (light, { address, content }) => {
    const { files } = light;
    const before = await files.readText(AUTHENTICATION_FILE);
    if (before === undefined)
      throw new StepFault('the API server of this host was started without a file for the authentication of users');
    if (before !== content) await files.writeText(AUTHENTICATION_FILE, content, PUBLIC);
    const since = (await files.stat(AUTHENTICATION_FILE)).modifiedAtMs / MS_PER_SECOND;
    const server = `https://${address}:6443`;
    const said = await must(light, 'kubectl', '--server', server, 'get', '--raw', '/metrics');
    const times = [...said.matchAll(/^(?:process_start_time_seconds|\S+status="success"}) (\S+)$/gm)].map(([, at]) =>
      Number(at),
    );
    if (Math.max(...times) < since)
      throw new StepFault('the API server has not taken the file for the authentication of users');
    return { changed: before !== content };
  },

  'remove-snapshot': async ({ files }) => {
    await files.removeTree(AGENT_PATHS.snapshot);
    return {};
  },

  'prepare-verification': async ({ files }) => {
    await files.removeTree(dirname(VERIFIED_SNAPSHOT));
    return { problem: null };
  },

  'verify-snapshot': async (light) => {
    const { files } = light;
    const folder = `${dirname(VERIFIED_SNAPSHOT)}/data`;
    const peer = 'http://127.0.0.1:12380';
    const options = [
      '--initial-cluster-token=scratch',
      `--initial-advertise-peer-urls=${peer}`,
      `--data-dir=${folder}`,
    ];
    try {
      const said = await must(light, 'etcdutl', 'snapshot', 'status', VERIFIED_SNAPSHOT, '-w', 'json');
      const member = ['--name=scratch', `--initial-cluster=scratch=${peer}`];
      await must(light, 'etcdutl', 'snapshot', 'restore', VERIFIED_SNAPSHOT, ...member, ...options);
      const { hash, revision: at, totalKey } = JSON.parse(said) as NonNullable<VerifySnapshotResult['status']>;
      const { revision, keys } = await scratchEtcdOf(files, folder);
      return { problem: null, status: { hash, revision: at, totalKey }, revision, objects: keys };
    } catch (error) {
      if (!(error instanceof StepFault)) throw error;
      return { problem: error.message, status: null, revision: null, objects: null };
    } finally {
      await files.removeTree(dirname(VERIFIED_SNAPSHOT));
    }
  },

  'kubeadm-reset': async (light, { removeAgent }) => {
    const { files } = light;
    let changed = false;
    if (await files.exists(ETCD_UNIT_FILE)) {
      changed = true;
      await light.run('systemctl', 'disable', '--now', EXTERNAL_ETCD.unit);
      const { pki, client, programs } = EXTERNAL_ETCD;
      for (const path of [ETCD_UNIT_FILE, pki, client, programs]) await files.removeTree(path);
    }
    if (removeAgent && (await files.exists(AGENT_PATHS.unit))) {
      changed = true;
      await light.run('systemctl', 'disable', '--now', AGENT_UNIT);
      const { unit, config, credentials, state } = AGENT_PATHS;
      for (const path of [unit, config, credentials, state, AGENT_STARTED]) await files.removeTree(path);
    }
    if ((await files.exists(KUBELET_CONF)) || (await files.exists(ADMIN_CONF))) {
      changed = true;
      await cleanKubeadm(light);
    }
    for (const path of ['/var/lib/etcd', '/etc/cni/net.d', INIT_CONFIG, JOIN_CONFIG]) await files.removeTree(path);
    for (const { name } of await files.list('/var/lib/fairlead')) {
      if (/^(kubeadm-|etcd\.).*\.(started|finished)$/.test(name)) await files.removeTree(`/var/lib/fairlead/${name}`);
    }
    return { changed, left: [] };
  },

  'read-kubeconfig': async ({ files }) => {
    const kubeconfig = await files.readText(ADMIN_CONF);
    if (kubeconfig === undefined) throw new StepFault('/etc/kubernetes/admin.conf is gone from a control plane');
    return { kubeconfig: Buffer.from(kubeconfig).toString('base64') };
  },

  look: async ({ host, files }) => {
    const { cpuCount: cpus, memoryGiB } = host.facts;
    const paths = [KUBELET_CONF, ADMIN_CONF, '/var/lib/etcd/member'];
    const found = await Promise.all(paths.map(async (path) => ((await files.exists(path)) ? [path] : [])));
    const agent = await files.exists(AGENT_PATHS.config);
    const clock = Math.floor(Date.now() / MS_PER_SECOND);
    const facts = { ...LIGHT_FACTS, clock, leftovers: found.flat(), agent: agent ? { node: '' } : null };
    return { cpus, memoryMiB: memoryGiB * MIB_PER_GIB, facts, baseline: LIGHT_BASELINE };
  },

  // Nothing listens on a light host: what no fault drops is open.
  'check-ports': async ({ run }, { targets }) => ({
    answers: await Promise.all(
      targets.map(async ({ address, port }, target) => {
        const { code } = await run('lab-connect', address, String(port));
        return { target, answer: code === SILENT ? ('silent' as const) : ('open' as const), words: '' };
      }),
    ),
  }),

  // Nothing runs on a light host that could hold a name.
  'publish-api': async () => {
    throw new StepFault('a light host of the lab has no SSH client: the API of its cluster cannot be published');
  },

  // The lab has its own load balancer.
  'balance-api': async () => {
    throw new StepFault('a host of the lab has no haproxy and no keepalived');
  },
};

const writeAuthentication = async (
  files: MemoryFiles,
  { authentication }: Pick<ClusterSettings, 'authentication'>,
): Promise<void> => {
  if (authentication !== undefined) await files.writeText(AUTHENTICATION_FILE, authentication, PUBLIC);
};

const writeEtcdCertificates = async (files: MemoryFiles, certificates: EtcdCertificates): Promise<void> => {
  const { ca, server, peer, healthcheckClient, apiserverClient } = certificates;
  const { pki } = EXTERNAL_ETCD;
  const pairs = { server, peer, 'healthcheck-client': healthcheckClient };
  for (const [name, { cert, key }] of Object.entries(pairs)) {
    await files.writeText(`${pki}/${name}.crt`, cert, PUBLIC);
    await files.writeText(`${pki}/${name}.key`, key, PRIVATE);
  }
  await files.writeText(ETCD_CLIENT.certFile, apiserverClient.cert, PUBLIC);
  await files.writeText(ETCD_CLIENT.keyFile, apiserverClient.key, PRIVATE);
  await files.writeText(ETCD_CLIENT.caFile, ca, PUBLIC);
  await files.writeText(`${pki}/ca.crt`, ca, PUBLIC);
};

const join = async (light: LightHost, uid: string, config: string): Promise<{ changed: boolean }> => {
  const { files } = light;
  const started = marker('kubeadm-join', uid) + '.started';
  const finished = marker('kubeadm-join', uid) + '.finished';
  const isNode = await files.exists(KUBELET_CONF);
  if (isNode && (await files.exists(finished))) return { changed: false };
  const begun = await files.exists(started);
  if (isNode && !begun) {
    throw new StepFault(
      'this host is a node already (/etc/kubernetes/kubelet.conf exists): refusing to join it to another cluster',
    );
  }
  if (begun) await cleanKubeadm(light);
  await files.writeText(started, '');
  await files.writeText(JOIN_CONFIG, config, PRIVATE);
  await must(light, 'kubeadm', 'join', '--config', JOIN_CONFIG).finally(() => files.removeTree(JOIN_CONFIG));
  await files.writeText(finished, '');
  return { changed: true };
};
