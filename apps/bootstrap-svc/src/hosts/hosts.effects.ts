import { AGENT_PATHS, ExternalFailure, wordsOf } from '@fairlead/contracts';
import { claimsOfCreds } from '@fairlead/embedded/credentials';
import { OnTask, type RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { renderStep, type PrepareInput, type PrepareResult } from '@fairlead/node-scripts';
import { Controller, Inject } from '@nestjs/common';
import type { HostAnswer } from '../bootstrap/bootstrap.decider.js';
import { hostOf, streamOf, type RunningTask } from '../bootstrap/running.task.js';
import { AGENT_KIT, HOST_ACCESS, SETTINGS } from '../bootstrap/tokens.js';
import type { Settings } from '../config.js';
import { bundleOf, type AgentKit } from './agent.kit.js';
import { tuningOf, versionOn } from './node.settings.js';
import type { HostAccess, HostWorker } from './host.access.js';
import type { FailedTry } from './hosts.ports.js';

/** Meanwhile a replica with the desired agent may run the job. */
const OTHER_REPLICA_MS = 5_000;
const OTHER_AGENT_MS = 60_000;
/** Retry interval for an unreachable host. */
const UNREACHED_AGAIN_MS = 60_000;
/** Attempts in quick succession are one event. */
const SAID_AGAIN_MS = 3_000;
const BUNDLE_MODE = 0o644;
const PRIVATE = { mode: 0o600 } as const;

/** Records that a host does not answer yet, from the first attempt on: a booting machine is retried for minutes. */
const recordTries = (step: RunningTask): ((tried: FailedTry) => Promise<void>) => {
  let saidAtMs = Number.NEGATIVE_INFINITY;
  return async ({ attempt, message, nextAt, until }) => {
    const nowMs = nextAt.getTime();
    if (nowMs - saidAtMs < SAID_AGAIN_MS) return;
    saidAtMs = nowMs;
    const { name: node } = hostOf(step).machine;
    const words = `${message}; given up at ${until.toISOString()}`;
    await step.record({
      type: 'StateUnreached',
      data: {
        uid: step.state.cluster.uid,
        node,
        cause: { operation: 'open SSH', target: node, message: words },
        attempt,
        nextAttemptAt: nextAt.toISOString(),
      },
    });
  };
};

/** Prepares hosts: installs the agent, and verifies kubeadm's requirements. */
@Controller()
export class HostsEffects {
  constructor(
    @Inject(HOST_ACCESS) private readonly hosts: HostAccess,
    @Inject(AGENT_KIT) private readonly kit: AgentKit,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'tuning'>,
  ) {}

  @OnTask('BootstrapHost', { attemptsMax: 3, backoffFirstMs: 1_000, timeoutMs: 15 * 60_000 })
  async bootstrapHost(step: RunningTask): Promise<void> {
    const bootstrap = async (worker: HostWorker): Promise<void> => {
      const { name } = hostOf(step).machine;
      const { hostKey, attempts } = worker.session;
      const { uid } = step.state.cluster;
      const reached = { hostKey, attempts: Math.max(attempts, 1) };
      const { sha256, version } = await this.startAgent(step, worker, { reached });
      await step.record({ type: 'AgentStarted', data: { uid, node: name, agentVersion: version, sha256 } });
    };
    await this.hosts.on(hostOf(step), step, bootstrap, recordTries(step));
  }

  /** If the new agent does not start, the host itself restores the previous one; then this fails. */
  @OnTask('UpdateAgent', { attemptsMax: 2, backoffFirstMs: 30_000, timeoutMs: 15 * 60_000 })
  async updateAgent(step: RunningTask): Promise<RequeueAfter | void> {
    const { sha256, version } = await this.kit.bundle();
    // Another replica has the desired agent.
    if (step.state.cluster.agent?.sha256 !== sha256)
      return step.requeueAfter(OTHER_REPLICA_MS, 'the desired agent is not ours');
    await this.hosts.on(hostOf(step), step, (worker) => this.startAgent(step, worker));
    const { name: node } = hostOf(step).machine;
    await step.record({
      type: 'AgentUpdated',
      data: { uid: step.state.cluster.uid, node, agentVersion: version, sha256 },
    });
    return undefined;
  }

  /**
   * An unreachable host is retried until it returns, without recording the attempts. The agent is restarted with its
   * new credential: a running one keeps trying the expired one.
   */
  @OnTask('RenewCredential', { attemptsMax: 3, backoffFirstMs: 60_000, timeoutMs: 10 * 60_000 })
  async renewCredential(step: RunningTask): Promise<RequeueAfter | void> {
    const { sha256 } = await this.kit.bundle();
    if (hostOf(step).agentSha256 !== sha256)
      return step.requeueAfter(
        OTHER_AGENT_MS,
        'the agent on the host has another version; its update also brings a credential',
      );
    return this.restartAgent(step);
  }

  /** As on its installation: with the address and the CA of this NATS, and a credential that it accepts. */
  @OnTask('TakeOverAgent', { attemptsMax: 3, backoffFirstMs: 10_000, timeoutMs: 10 * 60_000 })
  async takeOverAgent(step: RunningTask): Promise<RequeueAfter | void> {
    const unreached = await this.restartAgent(step);
    if (unreached !== undefined) return unreached;
    const { name: node } = hostOf(step).machine;
    await step.record({ type: 'AgentTakenOver', data: { uid: step.state.cluster.uid, node } });
    return undefined;
  }

  /** Only if the host is reachable. */
  private async restartAgent(step: RunningTask): Promise<RequeueAfter | undefined> {
    let isReached = false;
    try {
      await this.hosts.onIfAlive(hostOf(step), step, async (worker) => {
        isReached = true;
        await this.startAgent(step, worker, { restart: true });
      });
    } catch (error) {
      if (isReached || step.signal.aborted || !(error instanceof ExternalFailure)) throw error;
      return step.requeueAfter(UNREACHED_AGAIN_MS, wordsOf(error));
    }
    return undefined;
  }

  @OnTask('VerifyNode', { attemptsMax: 4, backoffFirstMs: 1_000, timeoutMs: 5 * 60_000 })
  async verifyNode(step: RunningTask): Promise<void> {
    const host = hostOf(step);
    const { name, role, privateIp, profile } = host.machine;
    const { problems } = await this.hosts.on(host, step, (worker) =>
      worker.run(
        renderStep('verify', {
          controlPlane: role === 'control-plane',
          address: privateIp,
          kubernetesVersion: versionOn(step.state.cluster, host),
          failSwapOn: tuningOf(this.settings.tuning, profile).failSwapOn,
        }),
      ),
    );
    if (problems.length > 0)
      throw new ExternalFailure({ operation: 'verify the host', target: name, message: problems.join('; ') });
    await step.record({ type: 'NodeBootstrapped', data: { uid: step.state.cluster.uid, node: name } });
  }

  /** Nothing is uploaded twice: the host reports the checksums of its files. */
  private async startAgent(
    step: RunningTask,
    worker: HostWorker,
    { reached, ...options }: Pick<PrepareInput, 'restart'> & { readonly reached?: HostAnswer } = {},
  ): Promise<{ sha256: string; version: string }> {
    const host = hostOf(step);
    const { sha256, version } = await this.kit.bundle();
    const input = { ...(await this.kit.prepareInput(streamOf(step), step.state.cluster, host)), ...options };
    await this.recordBefore(step, input, reached);
    const prepare = renderStep('prepare', input);
    const found = await worker.run(prepare);
    if (found.agent === 'started') return { sha256, version };
    await this.bring(found, step, worker);
    if ((await worker.run(prepare)).agent === 'started') return { sha256, version };
    throw new ExternalFailure({
      operation: 'start the agent',
      target: host.machine.name,
      message: `the agent was put at ${AGENT_PATHS.nextProgram} and is not there`,
    });
  }

  /** Before anything is sent to the host: an unrecorded user could not be revoked. */
  private async recordBefore(
    step: RunningTask,
    { credentials }: PrepareInput,
    reached: HostAnswer | undefined,
  ): Promise<void> {
    const { credentialLifetimeSeconds: lifetimeSeconds } = this.kit;
    const of = { uid: step.state.cluster.uid, node: hostOf(step).machine.name };
    if (credentials !== null) {
      const { sub: user } = claimsOfCreds(credentials);
      await step.record({ type: 'IssueCredential', data: { ...of, user, lifetimeSeconds, reached } });
    } else if (reached !== undefined) await step.record({ type: 'HostReached', data: { ...of, ...reached } });
  }

  private async bring(found: PrepareResult, step: RunningTask, { session }: HostWorker): Promise<void> {
    const { signal } = step;
    if (found.node === 'missing') {
      const archive = await this.kit.runtime.archive();
      await session.upload({ ...PRIVATE, path: AGENT_PATHS.nodeArchive, ...archive }, signal);
    }
    const software = bundleOf(hostOf(step));
    if (found.bundle === 'missing' && software !== null) {
      const content = await this.kit.software.file(software);
      await session.upload({ ...PRIVATE, path: AGENT_PATHS.bundle, content, sha256: software.sha256 }, signal);
    }
    const { content, sha256 } = await this.kit.bundle();
    await session.upload({ path: AGENT_PATHS.nextProgram, content, mode: BUNDLE_MODE, sha256 }, signal);
  }
}
