import {
  adoptionFault,
  refuse,
  runsOnCgroupV1,
  traitsOf,
  ExternalFailure,
  type NodeSet,
  type Refusal,
} from '@fairlead/contracts';
import { parseResult, problemsOfHost, renderStep, type HostFacts } from '@fairlead/node-scripts';
import { SECRETS, type SecretStore } from '@fairlead/service-kit';
import type { HostAddress, HostShell } from '@fairlead/service-kit/ssh';
import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import type { ListedMachine } from '../providers/provider.ports.js';
import { keyRefOf } from '../resources/resources.planner.js';
import { HOST_SHELL } from '../tokens.js';
import { isRunning, misfits } from './adoption.planner.js';
import type { Adopted } from './machines.planner.js';
import { clusterOf, type MachinesTask } from './machines.task.js';
import type { PreparedConnection } from './placement.effects.js';
import { PlannedMachines } from './planned.machines.effects.js';

const OPERATION = 'look at the host';
/** The machine is already running, so it responds soon or not at all. */
const PATIENCE = { triesMax: 3, deadlineMs: 30_000 };

interface Question {
  readonly task: MachinesTask;
  /** The provider ID. */
  readonly id: string;
  /** One machine of the adopting pool. */
  readonly set: NodeSet;
  readonly prepared: PreparedConnection;
}

/** Checks whether an orphan machine can become a node. Changes nothing, neither at the provider nor on the machine. */
@Injectable()
export class Adoption {
  constructor(
    @Inject(PlannedMachines) private readonly planned: PlannedMachines,
    @Inject(SECRETS) private readonly secrets: Pick<SecretStore, 'get'>,
    @Inject(HOST_SHELL) private readonly shell: Pick<HostShell, 'open'>,
  ) {}

  async check({ task, id, set, prepared }: Question): Promise<Adopted | Refusal> {
    const { connection, provider } = prepared.open;
    const fault = adoptionFault(connection);
    if (fault !== undefined) return fault;
    const about = { connection: connection.name, orphan: id };
    const found = (await provider.listMachines(task.signal)).find((machine) => machine.id === id);
    if (found === undefined) return refuse('connection.orphan-unknown', about);
    const owner = await this.ownerOf(task, found);
    if (owner !== undefined) return refuse('connection.orphan-recorded', { ...about, owner });
    const reasons = misfits(found, { set, image: set.image ?? prepared.infrastructure.image, zones: prepared.zones });
    if (!isRunning(found) || reasons.length > 0)
      return refuse('connection.orphan-unfit', { ...about, pool: set.pool ?? '', detail: reasons.join('; ') });
    const problems = await this.problemsOf(found, prepared, task.signal);
    if (problems.length > 0) return refuse('connection.orphan-unclean', { ...about, detail: problems.join('; ') });
    return { id, group: found.group, zone: found.zone };
  }

  private async ownerOf(task: MachinesTask, found: ListedMachine): Promise<string | undefined> {
    const isAdopted = clusterOf(task).planned.some(({ adopts }) => adopts?.id === found.id);
    return isAdopted ? `${task.namespace}/${task.cluster}` : this.planned.by(found, task.cause);
  }

  /** A host of an earlier installation still has its kubelet and agent, and one with another key cannot be prepared. */
  private async problemsOf(
    { id, ssh, sshKey, reach, profile }: Extract<ListedMachine, { status: 'running' }>,
    { open: { connection }, infrastructure }: PreparedConnection,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    // The machine inspected itself before it requested admission, and bootstrap-svc verifies it over its own
    // connection.
    if (reach === 'agent')
      return traitsOf(connection.provider).hostsJoin ? [] : ['it was made to join another pool by itself'];
    const keyRef = ssh.keyRef ?? keyRefOf(connection.name, sshKey, infrastructure.keyRef);
    const privateKey = await this.secrets.get(keyRef);
    if (privateKey === undefined)
      return [`it was created with the SSH key ${sshKey ?? keyRef}, which is not sealed here`];
    const { host, port, user, hostKey } = ssh;
    try {
      const facts = await this.look({ name: id, host, port, user, hostKey, privateKey }, signal);
      return problemsOfHost(facts, { address: null, lookedAt: null, cgroupV1: runsOnCgroupV1(profile) });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ExternalFailure)) throw error;
      return [`${error.operation}: ${error.message}`];
    }
  }

  private async look(address: HostAddress, signal: AbortSignal): Promise<HostFacts> {
    const { step, script: text, input, result, limitMs } = renderStep('look', {});
    const session = await this.shell.open(address, { ...PATIENCE, signal });
    try {
      const name = `${step}-${randomUUID().replaceAll('-', '')}`;
      const { stdout } = await session.run({ name, operation: OPERATION, text, input, limitMs }, signal);
      const parsed = result.safeParse(parseResult(stdout));
      if (parsed.success) return parsed.data.facts;
    } finally {
      session.release();
    }
    throw new ExternalFailure({ operation: OPERATION, target: address.name, message: 'the step produced no result' });
  }
}
