import { FIRST_EPOCH, ExternalFailure, type NodeAddress, type SecretRef, type SshEndpoint } from '@fairlead/contracts';
import { parseResult, underEpoch, type RenderedStep, type StepName, type StepResults } from '@fairlead/node-scripts';
import { createHash } from 'node:crypto';
import type { Host } from '../bootstrap/bootstrap.state.js';
import type { RunningTask } from '../bootstrap/running.task.js';
import type { RememberedSecrets } from '../secrets.cache.js';
import {
  PROVIDERS_KEYS,
  type HostAddress,
  type HostSession,
  type HostShell,
  type MachineHostKeys,
  type OpenOptions,
  type SshHop,
} from './hosts.ports.js';

/** Display names of the steps. */
const OPERATIONS: Readonly<Record<StepName, string>> = {
  prepare: 'start the agent',
  verify: 'verify the host',
  'kubeadm-init': 'kubeadm init',
  credentials: 'issue join credentials',
  'kubeadm-join-control-plane': 'kubeadm join',
  'kubeadm-join-worker': 'kubeadm join',
  'etcd-remove-member': 'remove the etcd member',
  'kubeadm-reset': 'kubeadm reset',
  look: 'look at the host',
  'check-ports': 'check ports between nodes',
  'balance-api': 'balance the API address',
  'publish-api': 'publish the API',
  'read-kubeconfig': 'read the kubeconfig',
  'etcd-member': 'start the etcd member',
  'etcd-add-member': 'add the etcd member',
  'etcd-promote-member': 'promote the etcd member',
  etcdctl: 'run etcdctl as a static pod',
  'remove-snapshot': 'remove the snapshot of etcd',
  'prepare-verification': 'prepare a scratch etcd',
  'verify-snapshot': 'verify the snapshot of etcd',
  'etcd-health': 'look at the health of etcd',
  'authorized-keys': 'replace the SSH key',
  authentication: 'change how users sign in',
  'node-exec': 'run a command',
  'node-log': 'follow the log',
};

/** The properties of a task that a connection depends on. */
export type Attempt = Pick<RunningTask, 'id' | 'attempt' | 'signal' | 'namespace' | 'cluster'>;

/** Opens sessions on hosts that connect by themselves. */
export interface SelfConnectedHosts {
  open(address: NodeAddress, options: OpenOptions): Promise<HostSession>;
}

/** A host with an open session. */
export class HostWorker {
  constructor(
    readonly session: HostSession,
    private readonly host: Host,
    private readonly step: Attempt,
    private readonly epoch: number,
  ) {}

  /** Runs a rendered step. Its file name is unique per run, so that two runs never share one. */
  async run<Name extends StepName>(rendered: RenderedStep<Name>): Promise<StepResults[Name]> {
    const { step, script, input, result, limitMs } = underEpoch(rendered, this.epoch);
    const { id, attempt, signal } = this.step;
    const unique = createHash('sha256').update(`${id}/${attempt}/${this.host.machine.name}`).digest('hex').slice(0, 12);
    const { stdout } = await this.session.run(
      { name: `${step}-${unique}`, operation: OPERATIONS[step], text: script, input, limitMs },
      signal,
    );
    const parsed = result.safeParse(parseResult(stdout));
    if (parsed.success) return parsed.data;
    throw new ExternalFailure({
      operation: step,
      target: this.host.machine.name,
      message: 'the step produced no result',
    });
  }
}

/** The data for connections in addition to the machine. */
export interface HostsKnown {
  readonly keys: MachineHostKeys;
  /** The epoch of this installation. */
  readonly epoch: () => number;
  /** Absent: none. */
  readonly channels?: SelfConnectedHosts;
}

const NOTHING_KNOWN: HostsKnown = { keys: PROVIDERS_KEYS, epoch: () => FIRST_EPOCH };

/** Opens sessions with the sealed key of the connection, and verifies the host key. */
export class HostAccess {
  constructor(
    private readonly shell: HostShell,
    private readonly secrets: Pick<RememberedSecrets, 'get'>,
    private readonly patience: Pick<OpenOptions, 'triesMax' | 'deadlineMs'>,
    private readonly known: HostsKnown = NOTHING_KNOWN,
  ) {}

  /** Works on a host that is expected to answer; always releases the connection. */
  async on<T>(
    host: Host,
    step: RunningTask,
    work: (worker: HostWorker) => Promise<T>,
    onFailedTry?: OpenOptions['onFailedTry'],
  ): Promise<T> {
    return this.with(host, step, { ...this.patience, ...(onFailedTry === undefined ? {} : { onFailedTry }) }, work);
  }

  /** The same for a host that may be dead: one attempt. */
  async onIfAlive<T>(host: Host, step: Attempt, work: (worker: HostWorker) => Promise<T>): Promise<T> {
    return this.with(host, step, { triesMax: 1, deadlineMs: 10_000 }, work);
  }

  /** Whether the host accepts a login of its user with that key. */
  async accepts(host: Host, step: RunningTask, keyRef: SecretRef): Promise<boolean> {
    const { machine } = host;
    const address = await this.addressOf({ ...host, machine: { ...machine, ssh: { ...machine.ssh, keyRef } } });
    return this.shell.accepts(address, step.signal);
  }

  async hasKey(keyRef: SecretRef): Promise<boolean> {
    return (await this.secrets.get(keyRef)) !== undefined;
  }

  private async with<T>(
    host: Host,
    step: Attempt,
    patience: Omit<OpenOptions, 'signal'>,
    work: (worker: HostWorker) => Promise<T>,
  ): Promise<T> {
    const session = await this.open(host, step, { ...patience, signal: step.signal });
    try {
      return await work(new HostWorker(session, host, step, this.known.epoch()));
    } finally {
      session.release();
    }
  }

  private async open(host: Host, { namespace, cluster }: Attempt, options: OpenOptions): Promise<HostSession> {
    const { name: node, reach } = host.machine;
    if (reach === undefined) return this.shell.open(await this.addressOf(host), options);
    const { channels } = this.known;
    if (channels === undefined) throw new Error('this service has no way to hosts that connect by themselves');
    return channels.open({ namespace, cluster, node }, options);
  }

  /**
   * The currently accepted host key takes precedence over the one reported by the provider; without either, the first
   * one seen is trusted.
   */
  private async addressOf({ machine, hostKey }: Host): Promise<HostAddress> {
    const { name, ssh } = machine;
    const accepted = await this.known.keys.of(machine);
    const hop = await this.hopOf(name, ssh);
    const address = { name, ...hop, hostKey: accepted.host ?? hop.hostKey ?? hostKey };
    if (ssh.jump === undefined) return address;
    const jump = await this.hopOf(name, ssh.jump);
    return { ...address, jump: { ...jump, hostKey: accepted.jump ?? jump.hostKey } };
  }

  private async hopOf(
    target: string,
    { host, port, user, hostKey, keyRef }: Omit<SshEndpoint, 'jump'>,
  ): Promise<SshHop> {
    const privateKey = await this.secrets.get(keyRef);
    if (privateKey !== undefined) return { host, port, user, hostKey, privateKey };
    throw new ExternalFailure({ operation: 'open SSH', target, message: `there is no key behind ${keyRef}` });
  }
}
