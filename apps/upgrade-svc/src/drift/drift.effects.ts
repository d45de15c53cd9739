import { HANDLE, OnTask, type Handle, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import { sayToNode } from '../desired/decisions.js';
import type { PermitRepair } from './drift.reconciler.js';
import type { DriftState } from './drift.state.js';

@Controller()
export class DriftEffects {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  @OnTask('PermitRepair', { attemptsMax: 20, backoffFirstMs: 500, timeoutMs: 60_000 })
  async permitRepair(task: TaskContext<DriftState, never, PermitRepair>): Promise<void> {
    const { uid, node, requestId } = task.data;
    await sayToNode(this.handle, task, node, { type: 'AllowRepair', data: { uid, node, repair: requestId } });
  }
}
