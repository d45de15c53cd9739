import { isRefusal, WorldFailure, type ConnectionName, type MachinePlan, type NodeName } from '@fairlead/contracts';
import type { JobLater } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Connections, InfrastructureProvider } from '../providers/provider.ports.js';
import { CONNECTIONS } from '../tokens.js';
import { unannouncedOf, type Held } from './machines.decider.js';
import { clusterOf, MachinesLog, type ClusterJob, type Work } from './machines.log.effects.js';
import { groupOf, loadBalancerName, loadBalancerOf, providerIdOf } from './machines.planner.js';

const STILL_THERE_AGAIN_MS = 2_000;

/** `deadline` (RFC 3339): after it, a machine that is still there is a failure and no longer something to wait for. */
export type DeletionJob = ClusterJob & { readonly data: { readonly deadline: string } };
export type RemovalJob = DeletionJob & { readonly data: { readonly node: NodeName } };

/** Gives machines back. A provider that does not answer has not said that anything is gone. */
@Injectable()
export class Deletion {
  constructor(
    @Inject(MachinesLog) private readonly log: MachinesLog,
    @Inject(CONNECTIONS) private readonly connections: Connections,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Everything that a cluster made: the balancer first, so that no one is sent to machines that go. */
  async cluster(work: Work<DeletionJob>): Promise<JobLater | undefined> {
    const { job, signal } = work;
    const state = await this.log.look(job);
    if (state.status !== 'leaving' || !state.dismantled) return undefined;
    const { held } = state;
    const { uid } = held;
    if (held.planned.length > 0 || held.balanced) {
      const provider = await this.open(held.spec.controlPlane.connection);
      await provider.deleteLoadBalancer(loadBalancerName(clusterOf(job, held)), signal);
    }
    const names = [...new Set(held.planned.map(({ connection }) => connection))];
    const results = await Promise.allSettled(names.map((name) => this.deleteAt(work, held, name)));
    const remaining = new Set(
      results.flatMap((result, at) =>
        result.status === 'fulfilled'
          ? result.value
          : held.planned.filter((plan) => plan.connection === names[at]).map(({ name }) => name),
      ),
    );
    const gone = held.planned.map(({ name }) => name).filter((name) => !remaining.has(name));
    const nothingLeft = remaining.size === 0;
    await this.log.record(job, { type: 'RecordDeletion', data: { uid, gone, nothingLeft } });
    const failed = results.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return nothingLeft ? undefined : this.stillThere(work, 'delete machines', [...remaining]);
  }

  /** One machine whose node has left its cluster. */
  async machine(work: Work<RemovalJob>): Promise<JobLater | undefined> {
    const { job } = work;
    const { node } = job.data;
    const state = await this.log.look(job);
    if (state.status === 'absent' || state.status === 'leaving') return undefined;
    const plan = state.held.planned.find(({ name }) => name === node);
    if (plan === undefined) return undefined;
    if (plan.role === 'control-plane') await this.unbalance(work, state.held, node);
    return (await this.deleteOne(work, state.held, plan)) ? undefined : this.stillThere(work, 'delete machine', [node]);
  }

  /** Machines that are given up and that no one was told of: no node has to leave before them. */
  async unannounced(work: Work<DeletionJob>): Promise<JobLater | undefined> {
    const state = await this.log.look(work.job);
    if (state.status === 'absent' || state.status === 'leaving') return undefined;
    const left: NodeName[] = [];
    for (const plan of unannouncedOf(state.held))
      if (!(await this.deleteOne(work, state.held, plan))) left.push(plan.name);
    return left.length === 0 ? undefined : this.stillThere(work, 'delete machines', left);
  }

  /** False: the provider still shows it. */
  private async deleteOne({ job, signal }: Work, held: Held, { name, connection }: MachinePlan): Promise<boolean> {
    const provider = await this.open(connection);
    const group = groupOf(clusterOf(job, held), connection);
    const find = async () =>
      (await provider.describeMachines(group, signal)).find(
        (report) => report.name === name && report.uid === held.uid,
      );
    const found = await find();
    if (found !== undefined) await provider.deleteMachine(found.id, signal);
    if (found !== undefined && (await find()) !== undefined) return false;
    await this.log.record(job, { type: 'RecordRemoval', data: { uid: held.uid, name } });
    return true;
  }

  /** The machines of this incarnation that a connection still shows after it was told to delete them. */
  private async deleteAt({ job, signal }: Work, held: Held, name: ConnectionName): Promise<readonly NodeName[]> {
    const provider = await this.open(name);
    const group = groupOf(clusterOf(job, held), name);
    await provider.deleteGroup(group, signal);
    const left = await provider.describeMachines(group, signal);
    return left.filter(({ uid }) => uid === held.uid).map((report) => report.name);
  }

  private async unbalance({ job, signal }: Work, held: Held, leaving: NodeName): Promise<void> {
    if (!held.balanced) return;
    const provider = await this.open(held.spec.controlPlane.connection);
    const staying = Object.values(held.created).filter(
      ({ role, name }) => role === 'control-plane' && name !== leaving,
    );
    await provider.ensureLoadBalancer(loadBalancerOf(clusterOf(job, held), staying.map(providerIdOf)), signal);
  }

  private stillThere(work: Work<DeletionJob>, operation: string, names: readonly string[]): JobLater {
    const { deadline } = work.job.data;
    if (this.clock.now().getTime() < Date.parse(deadline)) {
      return work.later(STILL_THERE_AGAIN_MS, `still there: ${names.join(', ')}`);
    }
    const message = `the provider still shows it, although it was told to delete it; given up at ${deadline}`;
    throw new WorldFailure({ operation, target: names.join(', '), message, retryable: false });
  }

  private async open(name: ConnectionName): Promise<InfrastructureProvider> {
    const open = await this.connections.open(name);
    if (!isRefusal(open)) return open.provider;
    throw new WorldFailure({ operation: 'verify connection', target: name, message: open.message });
  }
}
