import {
  UpgradeApproval,
  UpgradeOverride,
  UpgradePath,
  UpgradeReason,
  UpgradeRollback,
  UpgradeSkip,
  UpgradeView,
  type RefusalCode,
} from '@fairlead/contracts';
import { applyDecorators, Body, Controller, Inject, Param, Post, Res } from '@nestjs/common';
import { FromCaller, type Caller } from '../http/caller.js';
import { bothBases, Documented, type Recording } from '../http/documented.js';
import type { HttpResponse } from '../http/http.types.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { OperatorCommand } from '../http/operator.command.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { UpgradeAnswers } from './upgrade.answers.js';
import { isAborted, isLeftOut, isPaused, isRecorded, isRolledOut, type IsOver } from './upgrade.ends.js';
import { UpgradeCommands } from './upgrades.commands.js';
import type { SteeringCommand } from './upgrades.decider.js';

interface Steering {
  readonly id: string;
  readonly path: string;
  /** Absent: work. */
  readonly records?: Recording;
  readonly summary: string;
  readonly description?: string;
  readonly waits: string;
  readonly refusals: readonly RefusalCode[];
}

const COMMON: readonly RefusalCode[] = [
  ...OF_CLUSTER,
  'upgrade.unknown',
  'upgrade.phase',
  'cluster.paused',
  ...CHANGE_REFUSALS,
];

/** What all routes that steer an upgrade have in common. */
const Steers = ({ id, path, records = 'work', summary, description, waits, refusals }: Steering): MethodDecorator =>
  applyDecorators(
    Post(`:upgrade/${path}`),
    OperatorCommand(),
    Documented({
      id,
      tag: 'upgrades',
      records,
      summary,
      ...(description === undefined ? {} : { description }),
      answers: [
        { status: 202, description: 'The request is recorded; the upgrade as it is now', schema: UpgradeView },
        { status: 200, description: `With Prefer: wait=N: ${waits}`, schema: UpgradeView },
      ],
      refusals: [...COMMON, ...refusals],
    }),
  );

/** What people do with an upgrade that there is. */
@Controller(bothBases('ns/:namespace/clusters/:cluster/upgrades'))
export class SteeringHttp {
  constructor(
    @Inject(UpgradeCommands) private readonly commands: UpgradeCommands,
    @Inject(UpgradeAnswers) private readonly answers: UpgradeAnswers,
  ) {}

  @Steers({
    id: 'approveUpgrade',
    path: 'approve',
    summary: 'Approve the plan with this hash',
    waits: 'how the rollout ended',
    refusals: ['upgrade.not-planned', 'upgrade.not-approvable', 'upgrade.hash-mismatch'],
  })
  approve(
    @Param({ schema: UpgradePath }) path: UpgradePath,
    @Body({ schema: UpgradeApproval }) { planHash }: UpgradeApproval,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<UpgradeView> {
    return this.steer({ type: 'ApproveUpgrade', data: { ...path, planHash } }, isRolledOut, caller, response);
  }

  @Steers({
    id: 'pauseUpgrade',
    path: 'pause',
    records: 'end',
    summary: 'Pause a rollout',
    description: 'Nodes that are under way are finished.',
    waits: 'it pauses',
    refusals: [],
  })
  pause(
    @Param({ schema: UpgradePath }) path: UpgradePath,
    @Body({ schema: UpgradeReason }) { reason }: UpgradeReason,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<UpgradeView> {
    return this.steer({ type: 'PauseUpgrade', data: { ...path, reason } }, isPaused, caller, response);
  }

  @Steers({
    id: 'resumeUpgrade',
    path: 'resume',
    summary: 'Resume a rollout that is paused or has halted',
    waits: 'how the rollout ended',
    refusals: [],
  })
  resume(
    @Param({ schema: UpgradePath }) path: UpgradePath,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<UpgradeView> {
    return this.steer({ type: 'ResumeUpgrade', data: path }, isRolledOut, caller, response);
  }

  @Steers({
    id: 'abortUpgrade',
    path: 'abort',
    records: 'end',
    summary: 'Abort an upgrade',
    description: 'Nodes in progress are finished or left as failed; no other starts. What was changed stays changed.',
    waits: 'it has ended',
    refusals: [],
  })
  abort(
    @Param({ schema: UpgradePath }) path: UpgradePath,
    @Body({ schema: UpgradeReason }) { reason }: UpgradeReason,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<UpgradeView> {
    return this.steer({ type: 'AbortUpgrade', data: { ...path, reason } }, isAborted, caller, response);
  }

  @Steers({
    id: 'retryUpgrade',
    path: 'retry',
    summary: 'Retry what failed',
    waits: 'how the rollout ended',
    refusals: ['upgrade.nothing-failed'],
  })
  retry(
    @Param({ schema: UpgradePath }) path: UpgradePath,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<UpgradeView> {
    return this.steer({ type: 'RetryUpgrade', data: path }, isRolledOut, caller, response);
  }

  @Steers({
    id: 'skipUpgradeNode',
    path: 'skip',
    summary: 'Leave a node out of this upgrade',
    waits: 'it is left out',
    refusals: ['upgrade.not-planned', 'upgrade.node-not-planned', 'upgrade.node-done', 'upgrade.skip-worker-only'],
  })
  skip(
    @Param({ schema: UpgradePath }) path: UpgradePath,
    @Body({ schema: UpgradeSkip }) { node, reason }: UpgradeSkip,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<UpgradeView> {
    return this.steer({ type: 'SkipNode', data: { ...path, node, reason } }, isLeftOut(node), caller, response);
  }

  @Steers({
    id: 'overrideUpgradeRule',
    path: 'override',
    summary: 'Override a safety rule for this upgrade',
    description: 'Only rules that allow it can be overridden. Request a Rejected upgrade again with overrides.',
    waits: 'it is recorded',
    refusals: ['upgrade.rule-unknown', 'upgrade.rule-not-overridable', 'upgrade.reason-missing'],
  })
  override(
    @Param({ schema: UpgradePath }) path: UpgradePath,
    @Body({ schema: UpgradeOverride }) { rule, reason }: UpgradeOverride,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<UpgradeView> {
    return this.steer({ type: 'OverrideRule', data: { ...path, rule, reason } }, isRecorded, caller, response);
  }

  @Steers({
    id: 'rollBackUpgradeNode',
    path: 'rollback',
    summary: 'Restore the previous software of a failed worker',
    waits: 'how the rollout ended',
    refusals: [
      'upgrade.not-planned',
      'upgrade.node-not-planned',
      'upgrade.node-not-failed',
      'upgrade.rollback-worker-only',
    ],
  })
  rollBack(
    @Param({ schema: UpgradePath }) path: UpgradePath,
    @Body({ schema: UpgradeRollback }) { node }: UpgradeRollback,
    @FromCaller() caller: Caller,
    @Res({ passthrough: true }) response: HttpResponse,
  ): Promise<UpgradeView> {
    return this.steer({ type: 'RollBackNode', data: { ...path, node } }, isRolledOut, caller, response);
  }

  private async steer(
    command: SteeringCommand,
    isOver: IsOver,
    caller: Caller,
    response: HttpResponse,
  ): Promise<UpgradeView> {
    const decided = await this.commands.steer(command, caller);
    return this.answers.after(command.data, decided, { isOver, caller, response });
  }
}
