import {
  traitsOf,
  ExternalFailure,
  type ConnectionName,
  type Machine,
  type MachinePlan,
  type NodeName,
  type SecretRef,
} from '@fairlead/contracts';
import { OnTask, type RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import type { LoadBalancer, MachineAnswer, OpenConnection } from '../providers/provider.ports.js';
import { batchOfRequest } from './node.requests.js';
import { AnswerDeadline } from './answer.deadline.effects.js';
import type { TaskData } from './machines.decider.js';
import { desiredMachine, loadBalancerOf, machineOf, providerIdOf } from './machines.planner.js';
import { groupOf } from '../providers/group.names.js';
import { missingOf, targetsOf, type Cluster, type Machines } from './machines.state.js';
import { BALANCE_POLICY, clusterOf, CREATE_POLICY, refOf, type MachinesTask } from './machines.task.js';
import { keyRefOf } from '../resources/resources.planner.js';
import { Placement, type PreparedConnection } from './placement.effects.js';
import { USE_MACHINE } from './reasons.planner.js';
import { sizeAt } from './reservations.planner.js';
import { surgeKey } from './surges.js';
import { UserData } from './user.data.effects.js';

const STILL_THERE_AGAIN_MS = 2_000;

const batchOfTask = ({ requestId, surge }: TaskData): string | null =>
  surge === undefined ? batchOfRequest(requestId) : surgeKey(surge);

interface Making {
  /** Machines that the provider reports as failed are deleted first. */
  readonly remake: boolean;
  /** When they were requested; undefined: now. */
  readonly since: string | undefined;
}

/** Creates missing machines of clusters, whatever earlier attempts have done. */
@Controller()
export class CreationEffects {
  constructor(
    @Inject(Placement) private readonly placement: Placement,
    @Inject(AnswerDeadline) private readonly deadline: AnswerDeadline,
    @Inject(UserData) private readonly userData: UserData,
  ) {}

  /**
   * Creates the missing machines of the cluster itself, of a request or of a surge, on all its connections
   * concurrently.
   */
  @OnTask('EnsureMachines', CREATE_POLICY)
  ensureMachines(task: MachinesTask): Promise<RequeueAfter | undefined> {
    const { remake, desiredSince } = clusterOf(task);
    return this.ensure(task, { remake, since: desiredSince });
  }

  /**
   * Creates a replacement for a node that has left. Only a different cause is stated, so that a failure that lasts for
   * days is one event.
   */
  @OnTask('MakeMachinesAgain', CREATE_POLICY)
  async makeMachinesAgain(task: MachinesTask): Promise<RequeueAfter | undefined> {
    try {
      return await this.ensure(task, { remake: true, since: undefined });
    } catch (error) {
      if (!(error instanceof ExternalFailure)) throw error;
      const { uid, desiredSince } = clusterOf(task);
      const { requestId = '' } = task.data;
      await task.record({ type: 'FailNodes', data: { uid, requestId, cause: error.toCause() } });
      return task.requeueAfter(this.deadline.againInMs(desiredSince), error.message);
    }
  }

  private async ensure(task: MachinesTask, { remake, since }: Making): Promise<RequeueAfter | undefined> {
    const missing = missingOf(clusterOf(task), batchOfTask(task.data));
    const connections = await this.placement.prepare(missing, task.cause);
    if (remake && !(await this.clearFailed(task, missing, connections))) {
      return task.requeueAfter(STILL_THERE_AGAIN_MS, 'failed machines are still being deleted');
    }
    const pools = missing.map(({ pool }) => pool);
    const simulated = new Set(
      connections.flatMap(({ open: { connection } }) =>
        traitsOf(connection.provider).isSimulated ? [connection.name] : [],
      ),
    );
    const data = await this.userData.of(clusterOf(task), refOf(task), { pools, simulated });
    const made = await Promise.allSettled(connections.map((on) => this.ensureOn(task, { missing, since, data }, on)));
    const failed = made.find((result) => result.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    return undefined;
  }

  /** Before kubeadm init, because certificates and kubeconfigs contain the load balancer's address. */
  @OnTask('EnsureLoadBalancer', CREATE_POLICY)
  async ensureLoadBalancer(task: MachinesTask): Promise<void> {
    const cluster = clusterOf(task);
    const { uid, spec } = cluster;
    const { name: _name, ...balancer } = await this.ensureBalancer(task, targetsOf(cluster));
    const kind = spec.kubernetes.loadbalancer;
    await task.record({ type: 'RecordLoadBalancer', data: { uid, kind, ...balancer } });
  }

  /** Adds new control planes as targets, and removes leaving ones before they stop serving. */
  @OnTask('UpdateLoadBalancer', BALANCE_POLICY)
  async updateLoadBalancer(task: MachinesTask): Promise<void> {
    const cluster = clusterOf(task);
    const machines = targetsOf(cluster);
    await this.ensureBalancer(task, machines);
    const targets = machines.map(({ name }) => name);
    await task.record({ type: 'RecordTargets', data: { uid: cluster.uid, targets } });
  }

  private async ensureBalancer(task: MachinesTask, targets: readonly Machine[]): Promise<LoadBalancer> {
    const { spec } = clusterOf(task);
    const { provider } = await this.placement.open(spec.controlPlane.connection);
    return provider.ensureLoadBalancer(loadBalancerOf(refOf(task), targets.map(providerIdOf)), task.signal);
  }

  /**
   * Deletes failed machines before a retry creates them again, except adopted ones; returns false while the provider
   * still lists one of them.
   */
  private async clearFailed(
    task: MachinesTask,
    desired: readonly MachinePlan[],
    connections: readonly PreparedConnection[],
  ): Promise<boolean> {
    const { signal } = task;
    const ref = refOf(task);
    const missing = new Set(desired.flatMap(({ name, adopts }) => (adopts === undefined ? [name] : [])));
    const failedOn = async ({ connection, provider }: OpenConnection) => {
      const reports = await provider.describeMachines(groupOf(ref, connection.name), signal);
      return reports.filter(({ name, uid, status }) => uid === ref.uid && status === 'failed' && missing.has(name));
    };
    for (const { open } of connections) {
      for (const { id } of await failedOn(open)) await open.provider.deleteMachine(id, signal);
      if ((await failedOn(open)).length > 0) return false;
    }
    return true;
  }

  /**
   * Requests all missing machines from one connection. All responses are read, even after a failure, so that running
   * machines are recorded and a retry need not create them again.
   */
  private async ensureOn(
    task: MachinesTask,
    desired: {
      readonly missing: readonly MachinePlan[];
      readonly since: string | undefined;
      /** User data by pool, if any. */
      readonly data: ReadonlyMap<string, string>;
    },
    { open, infrastructure }: PreparedConnection,
  ): Promise<void> {
    const { connection, provider } = open;
    const cluster = clusterOf(task);
    const ref = refOf(task);
    const missing = desired.missing.filter((plan) => plan.connection === connection.name);
    const { network, firewall, sshKey, image, keyRef } = infrastructure;
    const group = {
      ...groupOf(ref, connection.name),
      ...{ network, firewall, sshKey, image },
      machines: missing.map((plan) => ({
        ...desiredMachine(ref)({ ...plan, spec: sizeAt(cluster, plan.connection, plan.spec) }),
        ...userDataOf(plan, desired.data),
      })),
    };
    const unanswered = new Set(missing.map(({ name }) => name));
    const taken = providerIdsOn(cluster, connection.name);
    const late = this.deadline.of(desired.since, unanswered);
    const failures: ExternalFailure[] = [];
    try {
      for await (const answer of provider.ensureMachines(group, AbortSignal.any([task.signal, late.signal]))) {
        const plan = missing.find(({ name }) => name === answer.name);
        if (plan === undefined || !unanswered.delete(answer.name)) continue;
        const machine = machineFrom(answer, { plan, cluster, open, keyRef, taken });
        if (machine instanceof ExternalFailure) {
          failures.push(machine);
          continue;
        }
        taken.set(machine.providerId, machine.name);
        const after = await task.record({ type: 'RecordMachine', data: { uid: cluster.uid, machine } });
        const other = holderOf(after, machine);
        if (other !== undefined) failures.push(reportedAs(plan.name, machine, other));
      }
    } catch (error) {
      throw late.signal.aborted ? late.signal.reason : (failures[0] ?? error);
    } finally {
      late.clear();
    }
    const [failure = unanswered.size > 0 ? silent([...unanswered]) : undefined] = failures;
    if (failure !== undefined) throw failure;
  }
}

const userDataOf = (
  { pool, adopts }: MachinePlan,
  data: ReadonlyMap<string, string>,
): { readonly userData?: string } => {
  const userData = adopts === undefined ? data.get(pool) : undefined;
  return userData === undefined ? {} : { userData };
};

const failure = (target: string, message: string, operation = 'create machines'): ExternalFailure =>
  new ExternalFailure({ operation, target, message, retryable: false });

const silent = (names: readonly string[]): ExternalFailure =>
  new ExternalFailure({
    operation: 'create machines',
    target: names.join(', '),
    message: 'the provider ended its answer without a word about them',
  });

/** The provider IDs of the machines of a connection. */
const providerIdsOn = ({ created }: Cluster, connection: ConnectionName): Map<string, NodeName> =>
  new Map(
    Object.values(created).flatMap((machine) =>
      machine.connection === connection ? [[machine.providerId, machine.name]] : [],
    ),
  );

/** The machine that a provider reports, or why it cannot be used. */
const machineFrom = (
  answer: MachineAnswer,
  at: {
    readonly plan: MachinePlan;
    readonly cluster: Cluster;
    readonly open: OpenConnection;
    readonly keyRef: SecretRef;
    readonly taken: ReadonlyMap<string, NodeName>;
  },
): Machine | ExternalFailure => {
  const { plan, cluster, open, keyRef, taken } = at;
  if (answer.status === 'failed') return failure(plan.name, answer.message);
  const needed = cluster.spec.serviceType === 'multi' ? 'public' : 'private';
  const address = needed === 'public' ? answer.publicIp : answer.privateIp;
  if (address === '') return failure(plan.name, `the machine runs but has no ${needed} address`, USE_MACHINE);
  // A machine whose creation was interrupted by a crash may have an earlier key than the current one.
  const own = keyRefOf(open.connection.name, answer.sshKey, keyRef);
  const machine = machineOf(plan, answer, { provider: open.connection.provider, keyRef: own });
  const other = taken.get(machine.providerId);
  return other === undefined ? machine : reportedAs(plan.name, machine, other);
};

const reportedAs = (name: NodeName, { providerId }: Machine, other: NodeName): ExternalFailure =>
  failure(name, `the provider reports it as ${providerId}, which is machine ${other}`);

/** The machine with the same provider ID that another request has recorded in the meantime. */
const holderOf = (state: Machines, { name, providerId }: Machine): NodeName | undefined =>
  state.status === 'absent'
    ? undefined
    : Object.values(state.cluster.created).find((other) => other.providerId === providerId && other.name !== name)
        ?.name;
