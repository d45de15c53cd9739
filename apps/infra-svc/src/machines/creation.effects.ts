import { WorldFailure, type Machine, type MachinePlan, type SecretRef } from '@fairlead/contracts';
import type { JobLater } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import type { MachineAnswer, OpenConnection } from '../providers/provider.ports.js';
import { batchOfRequest, requestOf } from './additions.js';
import { Admission } from './admission.effects.js';
import { AnswerDeadline } from './answer.deadline.effects.js';
import { missingOf, type Held, type Machines } from './machines.decider.js';
import { clusterOf, MachinesLog, type ClusterJob, type Work } from './machines.log.effects.js';
import {
  groupOf,
  loadBalancerOf,
  machineOf,
  planCluster,
  planWorkers,
  providerIdOf,
  desiredMachine,
} from './machines.planner.js';
import { SiteSurvey, type Site } from './sites.effects.js';

const STILL_THERE_AGAIN_MS = 2_000;

/** Makes the machines of clusters: what is missing of them, whatever has been done before. */
@Injectable()
export class Creation {
  constructor(
    @Inject(MachinesLog) private readonly log: MachinesLog,
    @Inject(Admission) private readonly admission: Admission,
    @Inject(SiteSurvey) private readonly sites: SiteSurvey,
    @Inject(AnswerDeadline) private readonly deadline: AnswerDeadline,
  ) {}

  /** The machines of an accepted cluster, and the balancer in front of its control planes. */
  async create(work: Work): Promise<JobLater | undefined> {
    const state = await this.log.look(work.job);
    if (state.status !== 'desired') return undefined;
    const { held } = state;
    if (held.planned.length > 0) return this.make(work, held, undefined);
    const { spec, uid } = held;
    const { zones } = await this.sites.of([spec.controlPlane, ...spec.workers], work.job.cause);
    return this.planAndMake(work, planCluster(uid, spec, zones), undefined);
  }

  /** Machines for one request for more workers. */
  async add(work: Work<ClusterJob & { data: { requestId: string } }>): Promise<JobLater | undefined> {
    const { job } = work;
    const state = await this.log.look(job);
    if (state.status !== 'desired') return undefined;
    const { held } = state;
    const request = requestOf(held.additions, job.data.requestId);
    if (request === undefined || request.failed) return undefined;
    if (request.machines.length > 0) return this.make(work, held, request.requestId);
    if (!(await this.admission.workers(work, held, request))) return undefined;
    const { requestId, workers } = request;
    const { zones } = await this.sites.of(workers, job.cause);
    return this.planAndMake(work, planWorkers(held, workers, zones), requestId);
  }

  private async planAndMake(
    work: Work,
    machines: readonly MachinePlan[],
    requestId: string | undefined,
  ): Promise<JobLater | undefined> {
    const { uid } = work.job.data;
    const state = await this.log.record(work.job, { type: 'Plan', data: { uid, machines, requestId } });
    return state.status === 'desired' ? this.make(work, state.held, requestId) : undefined;
  }

  /** What is missing of a request, or of the cluster itself. */
  private async make(work: Work, held: Held, requestId: string | undefined): Promise<JobLater | undefined> {
    const missing = missingOf(held, batchOfRequest(requestId));
    const sites = (await this.sites.of(missing, work.job.cause)).all;
    if (held.remake && !(await this.clearFailed(work, missing, { held, sites }))) {
      return work.later(STILL_THERE_AGAIN_MS, 'failed machines are still being deleted');
    }
    await this.makeAll(work, held, missing, sites);
    if (requestId !== undefined) {
      await this.log.record(work.job, { type: 'Announce', data: { uid: held.uid, requestId } });
    }
    await this.balance(work, await this.log.look(work.job));
    return undefined;
  }

  /** Machines that are named, on all their connections at once. */
  async makeAll(work: Work, held: Held, missing: readonly MachinePlan[], sites: readonly Site[]): Promise<void> {
    const made = await Promise.allSettled(sites.map((site) => this.makeAt(work, held, missing, site)));
    const failed = made.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** A retry makes failed machines again; false while the provider still shows one of them. */
  private async clearFailed(
    { job, signal }: Work,
    desired: readonly MachinePlan[],
    { held, sites }: { readonly held: Held; readonly sites: readonly Site[] },
  ): Promise<boolean> {
    const missing = new Set(desired.map(({ name }) => name));
    const failedAt = async ({ open }: Site) => {
      const reports = await open.provider.describeMachines(groupOf(clusterOf(job, held), open.connection.name), signal);
      return reports.filter(({ name, uid, status }) => uid === held.uid && status === 'failed' && missing.has(name));
    };
    for (const site of sites) {
      for (const { id } of await failedAt(site)) await site.open.provider.deleteMachine(id, signal);
      if ((await failedAt(site)).length > 0) return false;
    }
    return true;
  }

  /**
   * Asks one connection for everything that is missing there. All answers are heard, also after a failure: machines that
   * run are recorded, so that a retry need not make them again.
   */
  private async makeAt(
    { job, signal }: Work,
    held: Held,
    desired: readonly MachinePlan[],
    { open, things }: Site,
  ): Promise<void> {
    const { connection, provider } = open;
    const missing = desired.filter((plan) => plan.connection === connection.name);
    const { network, firewall, sshKey, image } = things;
    const group = {
      ...groupOf(clusterOf(job, held), connection.name),
      ...{ network, firewall, sshKey, image },
      machines: missing.map(desiredMachine(clusterOf(job, held))),
    };
    const unanswered = new Set(missing.map(({ name }) => name));
    const late = this.deadline.of(held.desiredSince, unanswered);
    const failures: WorldFailure[] = [];
    try {
      for await (const answer of provider.ensureMachines(group, AbortSignal.any([signal, late.signal]))) {
        const plan = missing.find(({ name }) => name === answer.name);
        if (plan === undefined || !unanswered.delete(answer.name)) continue;
        const machine = machineFrom(answer, { plan, held, open, keyRef: things.keyRef });
        if (machine instanceof WorldFailure) failures.push(machine);
        else await this.log.record(job, { type: 'RecordMachine', data: { uid: held.uid, machine } });
      }
    } catch (error) {
      throw late.signal.aborted ? late.signal.reason : (failures[0] ?? error);
    } finally {
      late.clear();
    }
    const [failure = unanswered.size > 0 ? silent([...unanswered]) : undefined] = failures;
    if (failure !== undefined) throw failure;
  }

  /** Before kubeadm init: the balancer's address is what certificates and kubeconfigs name. */
  private async balance({ job, signal }: Work, state: Machines): Promise<void> {
    if (state.status !== 'desired' || state.held.balanced) return;
    const { held } = state;
    const { provider } = await this.sites.open(held.spec.controlPlane.connection);
    const targets = Object.values(held.created)
      .filter(({ role }) => role === 'control-plane')
      .map(providerIdOf);
    const desired = loadBalancerOf(clusterOf(job, held), targets);
    const { name: _name, ...balancer } = await provider.ensureLoadBalancer(desired, signal);
    const kind = held.spec.kubernetes.loadbalancer;
    await this.log.record(job, { type: 'RecordLoadBalancer', data: { uid: held.uid, kind, ...balancer } });
  }
}

const failure = (target: string, message: string): WorldFailure =>
  new WorldFailure({ operation: 'create machines', target, message, retryable: false });

const silent = (names: readonly string[]): WorldFailure =>
  new WorldFailure({
    operation: 'create machines',
    target: names.join(', '),
    message: 'the provider ended its answer without a word about them',
  });

/** The machine that a provider reports, or why it is none that a cluster can be built on. */
const machineFrom = (
  answer: MachineAnswer,
  at: { readonly plan: MachinePlan; readonly held: Held; readonly open: OpenConnection; readonly keyRef: SecretRef },
): Machine | WorldFailure => {
  const { plan, held, open, keyRef } = at;
  if (answer.status === 'failed') return failure(plan.name, answer.message);
  const needed = held.spec.serviceType === 'multi' ? 'public' : 'private';
  const address = needed === 'public' ? answer.publicIp : answer.privateIp;
  if (address === '') return failure(plan.name, `the machine runs but has no ${needed} address`);
  return machineOf(plan, answer, { provider: open.connection.provider, keyRef });
};
