import {
  ExternalFailure,
  type Cause as WorldCause,
  type ConnectionName,
  type NodeName,
  type PowerAction,
} from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import { HANDLE, OnTask, type Handle, type TaskContext, type TaskOf } from '@fairlead/event-sourcing/jetstream';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject, Injectable } from '@nestjs/common';
import { retryOnConflict } from '../append.conflict.js';
import { openConnection, openOfferedConnection } from '../connections/open.connection.js';
import type { Connections, HostsPower, InfrastructureProvider } from '../providers/provider.ports.js';
import { resourcesStream } from '../resources/resources.decider.js';
import { CONNECTIONS } from '../tokens.js';
import { hostPower, type RecordHostPower } from './host.power.decider.js';
import type { Power, RecordPowerCycle } from './power.decider.js';
import { CYCLE_POWER, type CycleData } from './power.reconciler.js';

export type OfHostPower = {
  readonly connection: ConnectionName;
  readonly host: NodeName;
  readonly action: PowerAction;
  readonly request: number;
  readonly requestedAt: string;
};

/** A request that was not carried out in this time expires: another cluster may use the host by then. */
const REQUEST_VALID_MS = 10 * 60_000;

/** States what became of a request for the power of a host. */
@Injectable()
export class PowerLog {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  failed({ requestedAt: _at, ...asked }: OfHostPower, failure: WorldCause, cause: Cause): Promise<void> {
    return this.record({ type: 'RecordHostPowerFailure', data: { ...asked, cause: failure } }, cause);
  }

  async record(command: RecordHostPower, cause: Cause): Promise<void> {
    const stream = resourcesStream(command.data.connection);
    retryOnConflict(await this.handle(hostPower, stream, command, cause), stream.context);
  }
}

/** Switches the power of hosts: at the request of an administrator, or because a node does not answer. */
@Controller()
export class PowerEffects {
  constructor(
    @Inject(CONNECTIONS) private readonly connections: Connections,
    @Inject(PowerLog) private readonly log: PowerLog,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  /** Two attempts: who requested it waits for the answer. */
  @OnTask('ControlHostPower', { attemptsMax: 2, backoffFirstMs: 1_000, timeoutMs: 2 * 60_000 })
  async control({ data, cause, signal }: Pick<TaskOf<OfHostPower>, 'data' | 'cause' | 'signal'>): Promise<void> {
    const { requestedAt, ...asked } = data;
    const { connection, host, action } = asked;
    if (this.clock.now().getTime() - Date.parse(requestedAt) > REQUEST_VALID_MS)
      throw failure(host, 'the request was not carried out in 10 minutes, and is void');
    const open = await openOfferedConnection(this.connections, connection);
    if (open === undefined) return;
    const power = await powerOf(open.provider, host).act(host, action, signal);
    await this.log.record({ type: 'RecordHostPower', data: { ...asked, power } }, cause);
  }

  /** Repeated after a crash: a host that is off by then is only switched on. */
  @OnTask(CYCLE_POWER, { attemptsMax: 3, backoffFirstMs: 5_000, timeoutMs: 3 * 60_000 })
  async cycle(task: TaskContext<Power, RecordPowerCycle, CycleData>): Promise<void> {
    const { state, data, signal } = task;
    if (state.status === 'absent') return;
    const { requestId } = data;
    const node = state.open[requestId];
    const machine = node && state.machines[node];
    if (node === undefined || machine === undefined) return;
    const { provider } = await openConnection(this.connections, machine.connection, { retryable: true });
    if (!(await powerOf(provider, node).cycleMachine(machine.id, signal)))
      throw failure(node, 'its host was given back already');
    await task.record({ type: 'RecordPowerCycle', data: { uid: state.uid, node, requestId } });
  }
}

const failure = (target: string, message: string): ExternalFailure =>
  new ExternalFailure({ operation: 'control power', target, message, retryable: false });

const powerOf = ({ power }: InfrastructureProvider, target: string): HostsPower => {
  if (power === undefined) throw failure(target, 'its provider switches no power');
  return power;
};
