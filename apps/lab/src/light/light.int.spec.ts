import { problemsOfHost } from '@fairlead/node-scripts';
import { eventually } from '@fairlead/testing';
import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { afterEach, describe, expect, it } from '@jest/globals';
import pLimit from 'p-limit';
import { TestLab, first, type TestMachine } from '../testing/test.lab.js';
import { SteppedHost, clusterSettings, nodeSettings, prepareInput } from './light.fixtures.js';

type WriteFile = (path: string, text: string, done: (error?: Error | null) => void) => void;

interface Balancer {
  readonly host: string;
  readonly port: number;
}

const UID = '00000000-0000-4000-8000-000000000001';

// Runs real shells and processes, on a machine that may be busy with other tests.
describe.each([{ light: true }, { light: false }])(
  'the steps of a cluster on hosts with light: $light',
  ({ light }) => {
    let lab: TestLab | undefined;

    afterEach(async () => {
      await lab?.stop();
      lab = undefined;
    });

    const verified = async (host: SteppedHost, machine: TestMachine): Promise<void> => {
      const look = { controlPlane: true, address: machine.publicIp, kubernetesVersion: 'v1.34.4', failSwapOn: true };
      await eventually(async () => (await host.step('verify', look)).problems.length === 0);
    };

    it('create the same cluster step by step, and change nothing when repeated', async () => {
      lab = await TestLab.start({ light });
      const { machines } = await lab.group('demo', ['demo-cp-1', 'demo-cp-2', 'demo-w-1']);
      const [leader, second, worker] = machines as readonly [TestMachine, TestMachine, TestMachine];
      const targets = [leader.id, second.id];
      const request = { group: 'demo', port: 6443, healthPath: '/readyz', targets };
      const balancer = (await lab.call<Balancer>('PUT', 'load-balancers/demo', request)).body;
      const cluster = clusterSettings('demo', balancer);
      const hosts: SteppedHost[] = [];
      for (const machine of machines) {
        const host = await SteppedHost.open(await lab.ssh(machine));
        await host.startAgent(prepareInput(machine, 'demo', UID));
        await host.startAgent(prepareInput(machine, 'demo', UID));
        await verified(host, machine);
        hosts.push(host);
      }
      const [onLeader, onSecond, onWorker] = hosts as [SteppedHost, SteppedHost, SteppedHost];

      const init = { uid: UID, cluster, node: nodeSettings(leader), schedulable: false };
      const { changed, kubeconfig } = await onLeader.step('kubeadm-init', init);
      expect(changed).toBe(true);
      expect(await onLeader.step('kubeadm-init', init)).toEqual({ changed: false, kubeconfig });

      const config = new KubeConfig();
      config.loadFromString(Buffer.from(kubeconfig, 'base64').toString('utf8'));
      const caCertHash = await hashOf(config);
      const asked = { cluster, address: leader.publicIp, tokenTtlSeconds: 1_800 };
      const { token, certificateKey } = await onLeader.step('credentials', { ...asked, certificates: true });
      const joining = { uid: UID, cluster, credentials: { token, caCertHash } };
      const key = { token, caCertHash, certificateKey: certificateKey ?? '' };
      const second_ = { ...joining, node: nodeSettings(second), credentials: key, afterInterruption: false };
      expect(await onSecond.step('kubeadm-join-control-plane', second_)).toEqual({
        changed: true,
        interrupted: false,
      });
      expect(await onSecond.step('kubeadm-join-control-plane', second_)).toEqual({
        changed: false,
        interrupted: false,
      });
      const third = { ...joining, node: nodeSettings(worker) };
      expect(await onWorker.step('kubeadm-join-worker', third)).toEqual({ changed: true });

      const { items } = await config.makeApiClient(CoreV1Api).listNode();
      expect(items.map(({ metadata, spec }) => [metadata?.name, spec?.providerID])).toEqual(
        machines.map(({ name, id }) => [name, `lab://${id}`]),
      );
      const removal = { member: second.name, address: second.publicIp, self: leader.name, external: false };
      expect(await onLeader.step('etcd-remove-member', removal)).toEqual({ changed: true, members: 1 });
      expect(await onLeader.step('etcd-remove-member', removal)).toEqual({ changed: false, members: 1 });
      const problemsOf = async (host: SteppedHost) =>
        problemsOfHost((await host.step('look', {})).facts, { address: null, lookedAt: null });
      // On a host with real scripts, also names the agent's node and the running kubelet.
      const problems = await problemsOf(onWorker);
      expect(problems).toContain('it is a Kubernetes node already (/etc/kubernetes/kubelet.conf exists)');
      expect(problems.join('; ')).toMatch(/it has an agent of another cluster/);
      expect(await onWorker.step('kubeadm-reset', { removeAgent: true, of: UID })).toEqual({ changed: true, left: [] });
      expect(await problemsOf(onWorker)).toEqual([]);
      expect(await onWorker.step('kubeadm-reset', { removeAgent: true, of: UID })).toEqual({
        changed: false,
        left: [],
      });
      const twice = { uid: UID, cluster, node: nodeSettings(leader), schedulable: false };
      await Promise.all([onLeader.step('kubeadm-init', twice), onLeader.step('kubeadm-init', twice)]);
      const inits = (await lab.commandsOf(leader.name)).filter(({ command }) =>
        command.startsWith('kubeadm init --config'),
      );
      expect(inits.map(({ exit }) => exit)).toEqual([0]);
    }, 60_000);

    it('fail with the output of the command that failed', async () => {
      lab = await TestLab.start({ light });
      const machine = await lab.machine('m');
      const host = await SteppedHost.open(await lab.ssh(machine));
      await host.startAgent(prepareInput(machine, 'm', UID));
      await verified(host, machine);
      await lab.call('PUT', 'faults', {
        items: [
          { kind: 'command-failure', machine: 'm', command: 'kubeadm init', message: 'etcd did not start', times: 1 },
        ],
      });
      const { host: address, port } = { host: machine.publicIp, port: 6443 };
      const init = {
        uid: UID,
        cluster: clusterSettings('m', { host: address, port }),
        node: nodeSettings(machine),
        schedulable: true,
      };
      await expect(host.step('kubeadm-init', init)).rejects.toThrow('etcd did not start');
      expect((await host.step('kubeadm-init', init)).changed).toBe(true);
    }, 60_000);
  },
);

describe('a light lab', () => {
  it('supports the commands that verify and install an uploaded file', async () => {
    const lab = await TestLab.start({ light: true });
    try {
      const ssh = await lab.ssh(await lab.machine('m'));
      const text = 'an agent';
      const sha256 = createHash('sha256').update(text).digest('hex');
      const sftp = await ssh.requestSFTP();
      await promisify(sftp.writeFile.bind(sftp) as WriteFile)('/opt/agent.new', text);
      const commands = [
        `printf '%s  %s\\n' ${sha256} "\${FAIRLEAD_ROOT:-}"/opt/agent.new | sha256sum --check --status`,
        'chmod 600 "${FAIRLEAD_ROOT:-}"/opt/agent.new',
        'mv -f "${FAIRLEAD_ROOT:-}"/opt/agent.new "${FAIRLEAD_ROOT:-}"/opt/agent',
      ];
      // In its own shell, independent of the login shell.
      const command = `sh -c '${commands.join(' && ').replaceAll("'", `'\\''`)}'`;
      expect(await ssh.execCommand(command)).toMatchObject({ code: 0, stderr: '' });
      const placed = await promisify(sftp.stat.bind(sftp))('/opt/agent');
      expect(placed.mode & 0o777).toBe(0o600);
      ssh.dispose();
    } finally {
      await lab.stop();
    }
  });

  it('runs two hundred hosts, each with its own SSH server, also after a restart', async () => {
    const lab = await TestLab.start({ light: true });
    try {
      const names = Array.from({ length: 200 }, (_, index) => `many-${index}`);
      const { machines } = await lab.group('many', names);
      expect(new Set(machines.map(({ publicIp }) => publicIp)).size).toBe(200);
      const limit = pLimit(8);
      const uname = async (machine: TestMachine): Promise<string> => {
        const ssh = await lab.ssh(machine);
        const { stdout } = await ssh.execCommand('uname -n');
        ssh.dispose();
        return stdout;
      };
      expect(await Promise.all(machines.map((machine) => limit(() => uname(machine))))).toEqual(names);

      const ssh = await SteppedHost.open(await lab.ssh(first(machines)));
      await ssh.startAgent(prepareInput(first(machines), 'many', UID));
      await lab.restart();
      const again = await lab.ssh(first(machines));
      await eventually(async () => (await again.execCommand('systemctl is-active fairlead-agent')).stdout === 'active');
      expect((await again.execCommand('rm -rf /')).code).toBe(127);
    } finally {
      await lab.stop();
    }
  }, 120_000);
});

/** As kubeadm computes it: SHA-256 of the CA's public key. */
const hashOf = async (config: KubeConfig): Promise<string> => {
  const { X509Certificate, createHash } = await import('node:crypto');
  const pem = Buffer.from(config.getCurrentCluster()?.caData ?? '', 'base64');
  const key = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(key).digest('hex')}`;
};
