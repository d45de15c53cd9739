import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NodeSSH } from 'node-ssh';
import ssh2 from 'ssh2';
import { startLab, type LabHandle } from '../lab.js';
import type { LabConfig } from '../lab.config.js';

export const TOKEN = 'token-of-a-test-lab';

export interface TestMachine {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  readonly publicIp: string;
  readonly sshPort: number;
  readonly sshUser: string;
  readonly hostKey: string;
}

export interface TestGroup {
  readonly group: string;
  readonly rev: number;
  readonly machines: readonly TestMachine[];
}

/** A running lab with a network, a firewall and a key, and helpers for tests. */
export class TestLab {
  readonly bugs: unknown[] = [];
  private readonly connections: NodeSSH[] = [];

  private constructor(
    readonly folder: string,
    readonly key: { readonly private: string; readonly public: string },
    private readonly options: Partial<LabConfig>,
    private handle: LabHandle,
  ) {}

  static async start(options: Partial<LabConfig> = {}): Promise<TestLab> {
    const folder = mkdtempSync(join(tmpdir(), 'fairlead-lab-'));
    const lab = new TestLab(folder, readableKey(), options, await startLab(config(folder, options), () => undefined));
    await lab.call('PUT', 'networks/net', { cidr: '10.0.0.0/16', subnet: '10.0.1.0/24' });
    await lab.call('PUT', 'firewalls/wall', { rules: [] });
    await lab.call('PUT', 'ssh-keys/key', { publicKey: lab.key.public });
    return lab;
  }

  async stop(): Promise<void> {
    for (const connection of this.connections) connection.dispose();
    await this.handle.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Starts another lab with the same key on an existing folder. */
  async startOn(folder: string): Promise<TestLab> {
    const handle = await startLab(config(folder, this.options), () => undefined);
    return new TestLab(folder, this.key, this.options, handle);
  }

  /** Stops the lab and starts another one on the same folder. */
  async restart(): Promise<void> {
    for (const connection of this.connections.splice(0)) connection.dispose();
    await this.handle.stop();
    this.handle = await startLab(config(this.folder, this.options), () => undefined);
  }

  async call<T = unknown>(
    method: string,
    path: string,
    body?: unknown,
    token = TOKEN,
  ): Promise<{ status: number; body: T }> {
    const response = await fetch(`http://127.0.0.1:${this.handle.port}/v1/${path}`, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? undefined : JSON.parse(text)) as T };
  }

  /** Requests a group and waits until every machine has left `creating`. */
  async group(name: string, machines: readonly string[], uid = `uid-of-${name}`): Promise<TestGroup> {
    await this.call('PUT', `groups/${name}`, groupRequest(name, machines, uid));
    for (;;) {
      const group = (await this.call<TestGroup>('GET', `groups/${name}`)).body;
      if (group.machines.every(({ status }) => status !== 'creating')) return group;
      await this.call('GET', `groups/${name}?changedSince=${group.rev}&waitMs=10000`);
    }
  }

  async machine(name: string): Promise<TestMachine> {
    const { machines } = await this.group(name, [name]);
    return first(machines);
  }

  async ssh(machine: TestMachine, privateKey = this.key.private, readyTimeout = 20_000): Promise<NodeSSH> {
    const connection = new NodeSSH();
    await connection.connect({
      host: machine.publicIp,
      port: machine.sshPort,
      username: machine.sshUser,
      privateKey,
      readyTimeout,
    });
    // An error without a listener would end the test process.
    connection.connection?.on('error', () => undefined);
    this.connections.push(connection);
    return connection;
  }

  async commandsOf(machine: string): Promise<readonly { command: string; exit: number | null }[]> {
    type Stats = { commands: readonly { command: string; exit: number | null }[] };
    return (await this.call<Stats>('GET', `stats?machine=${machine}`)).body.commands;
  }
}

export const groupRequest = (name: string, machines: readonly string[], uid: string): unknown => ({
  cluster: name,
  namespace: 'default',
  uid,
  machines: machines.map((machine) => ({
    name: machine,
    spec: 'lab.medium',
    image: 'debian-12',
    network: 'net',
    firewall: 'wall',
    sshKey: 'key',
  })),
});

/** The changes that the agent makes to a host before kubeadm runs. */
export const PREPARE_HOST = [
  'set -e',
  'apt-get update',
  "apt-get install -y 'containerd=1.7.24*' 'kubelet=1.34.4*' 'kubeadm=1.34.4*' 'kubectl=1.34.4*'",
  'swapoff -a',
  'modprobe br_netfilter',
  'sysctl -w net.ipv4.ip_forward=1',
].join('; ');

/** Runs a command that must succeed. */
export const must = async (ssh: NodeSSH, command: string): Promise<string> => {
  const { code, stdout, stderr } = await ssh.execCommand(command);
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${stderr}${stdout}`);
  return stdout;
};

export const first = <T>(items: readonly T[]): T => {
  const [item] = items;
  if (item === undefined) throw new Error('there is none');
  return item;
};

const config = (folder: string, options: Partial<LabConfig>): LabConfig => ({
  dataFolder: folder,
  port: 0,
  token: TOKEN,
  light: false,
  delays: 'none',
  nodeBinary: process.execPath,
  certificateAgeDays: 0,
  nodeMonitorGraceMs: 40_000,
  ...options,
});

/** ssh2 generates an unreadable key once in 256 times. */
const readableKey = (): { private: string; public: string } => {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519');
    if (!(ssh2.utils.parseKey(pair.private) instanceof Error)) return pair;
  }
};
