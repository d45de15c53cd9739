import { AGENT_PATHS, AgentConfig } from '@fairlead/contracts';
import {
  DEFAULT_TUNING,
  parseResult,
  renderStep,
  sentStep,
  type ClusterSettings,
  type StepInputs,
  type StepName,
  type StepResults,
} from '@fairlead/node-scripts';
import { createHash } from 'node:crypto';
import type { NodeSSH } from 'node-ssh';
import type { SFTPWrapper } from 'ssh2';
import type { TestMachine } from '../testing/test.lab.js';

/** An agent that configures its host like the real one, but does not connect to anything. */
export const AGENT = Buffer.from(`
export const startAgent = async ({ config, host, log }) => {
  const must = async (...words) => {
    const { code, stdout, stderr } = await host.run(words[0], words.slice(1), { timeoutMs: 10_000 });
    if (code !== 0) throw new Error(words.join(' ') + ': ' + stderr);
    return stdout;
  };
  const packages = Object.entries(config.desired.software).map(([name, version]) => name + '=' + version + '*');
  await must('hostnamectl', 'set-hostname', config.node);
  await must('swapoff', '-a');
  await must('modprobe', 'br_netfilter');
  await must('sysctl', '-w', 'net.ipv4.ip_forward=1');
  await must('apt-get', 'update');
  await must('apt-get', 'install', '-y', ...packages);
  await host.writeFile('/var/lib/agent.state', await host.bootId(), 0o600);
  log('info', 'initialised', { node: config.node });
  return { stop: async () => undefined };
};
const root = process.env.FAIRLEAD_ROOT;
if (root && process.argv[1] === root + '/opt/fairlead/agent.mjs') {
  const { execFile } = await import('node:child_process');
  const { readFile, writeFile } = await import('node:fs/promises');
  const config = JSON.parse(await readFile(root + '/etc/fairlead/agent.json', 'utf8'));
  const run = (command, args) =>
    new Promise((resolve) => {
      execFile(command, args, (error, stdout, stderr) => resolve({ code: error ? (error.code ?? null) : 0, stdout, stderr }));
    });
  const host = {
    run,
    writeFile: (path, text) => writeFile(root + path, text),
    bootId: () => readFile(root + '/proc/sys/kernel/random/boot_id', 'utf8'),
  };
  await startAgent({ config, host, log: (...words) => console.log(JSON.stringify(words)) });
  // The real one says so once it has reached NATS.
  await writeFile(root + '/var/lib/fairlead/agent.connected', '');
  setInterval(() => undefined, 60_000);
}
// ${'.'.repeat(200_000)}
`);

const AGENT_SHA256 = createHash('sha256').update(AGENT).digest('hex');

/** One host as used by bootstrap-svc: files over SFTP, steps over SSH. */
export class SteppedHost {
  private steps = 0;

  private constructor(
    private readonly ssh: NodeSSH,
    private readonly sftp: SFTPWrapper,
  ) {}

  static async open(ssh: NodeSSH): Promise<SteppedHost> {
    const sftp = await ssh.requestSFTP();
    for (const folder of ['/var/lib/fairlead', '/opt/fairlead']) {
      await new Promise<void>((resolve) => sftp.mkdir(folder, {}, () => resolve()));
    }
    return new SteppedHost(ssh, sftp);
  }

  async step<Name extends StepName>(name: Name, input: StepInputs[Name]): Promise<StepResults[Name]> {
    this.steps += 1;
    const { script, result } = renderStep(name, input);
    const { command, stdin } = sentStep({ name: `${name}-${this.steps}`, script, input });
    const { code, stdout, stderr } = await this.ssh.execCommand(command, { stdin });
    if (code !== 0) throw new Error(`${name} ended with ${code}: ${stderr}`);
    return result.parse(parseResult(stdout));
  }

  /** Starts an agent like bootstrap-svc: check, upload if missing, check again. */
  async startAgent(input: StepInputs['prepare']): Promise<void> {
    if ((await this.step('prepare', input)).agent === 'started') return;
    const staged = `${AGENT_PATHS.nextProgram}.${AGENT_SHA256.slice(0, 12)}`;
    await this.write(staged, AGENT);
    const root = '"${FAIRLEAD_ROOT:-}"';
    const put = [
      `printf '%s  %s\\n' ${AGENT_SHA256} ${root}${staged} | sha256sum --check --status`,
      `chmod 644 ${root}${staged}`,
      `mv -f ${root}${staged} ${root}${AGENT_PATHS.nextProgram}`,
    ];
    const { code, stderr } = await this.ssh.execCommand(put.join(' && '));
    if (code !== 0) throw new Error(`the agent could not be put in place: ${stderr}`);
    if ((await this.step('prepare', input)).agent !== 'started') throw new Error('the agent did not start');
  }

  private write(path: string, content: string | Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.sftp.writeFile(path, content, { mode: 0o600 }, (error) => (error ? reject(error) : resolve()));
    });
  }
}

export const prepareInput = (machine: TestMachine, cluster: string, uid: string): StepInputs['prepare'] => ({
  agent: { sha256: AGENT_SHA256, version: '0.1.0' },
  credentials: null,
  nodeBinary: '/usr/bin/node',
  ownNode: null,
  bundle: null,
  config: AgentConfig.parse({
    namespace: 'default',
    cluster,
    uid,
    node: machine.name,
    role: 'control-plane',
    natsUrls: ['nats://127.0.0.1:1'],
    heartbeatIntervalMs: 10_000,
    desired: {
      revision: 1,
      changesAllowed: true,
      software: { containerd: '1.7.24', kubelet: '1.34.4', kubeadm: '1.34.4', kubectl: '1.34.4' },
    },
    nodeLabels: {},
  }),
});

export const clusterSettings = (name: string, endpoint: { host: string; port: number }): ClusterSettings => ({
  api: 'kubeadm.k8s.io/v1beta4',
  kubernetesVersion: 'v1.34.4',
  clusterName: name,
  endpoint: { host: endpoint.host, port: endpoint.port },
  podCidr: '10.244.0.0/16',
  serviceCidr: '10.96.0.0/12',
  dnsDomain: 'cluster.local',
  etcdEndpoints: null,
  tuning: DEFAULT_TUNING,
});

export const nodeSettings = (machine: TestMachine): StepInputs['kubeadm-init']['node'] => ({
  name: machine.name,
  address: machine.publicIp,
  providerId: `lab://${machine.id}`,
  labels: { 'topology.kubernetes.io/zone': 'lab-1a' },
  tuning: DEFAULT_TUNING,
});
