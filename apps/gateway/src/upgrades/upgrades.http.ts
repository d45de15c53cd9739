import {
  ClusterPath,
  ListQuery,
  ReadQuery,
  UpgradeList,
  UpgradePath,
  UpgradeQuery,
  UpgradeRequest,
  UpgradeView,
  type RefusalCode,
} from '@fairlead/contracts';
import { Body, Controller, Get, Inject, Param, Post, Query } from '@nestjs/common';
import { RoleInNamespace } from '../access/access.js';
import { FromCaller, FromExchange, type Caller, type Exchange } from '../http/caller.js';
import { bothBases, Documented } from '../http/documented.js';
import { CHANGE_REFUSALS } from '../http/idempotency.js';
import { LogFollower } from '../http/log.follower.js';
import { OperatorCommand } from '../http/operator.command.js';
import { UpgradeAnswers } from './upgrade.answers.js';
import { isPlanned, isRolledOut } from './upgrade.ends.js';
import { IsWhole, pageOf, pageRequest } from '../http/page.js';
import { OF_CLUSTER } from '../http/read.routes.js';
import { UpgradeCommands } from './upgrades.commands.js';

/** How long a dry run waits for its plan unless the request says otherwise. */
const DRY_RUN_WAIT_MS = 30_000;

const READ_REFUSALS: readonly RefusalCode[] = [...OF_CLUSTER, 'wait.seq-ahead', 'wait.too-long'];

@Controller(bothBases('ns/:namespace/clusters/:cluster/upgrades'))
export class UpgradesHttp {
  constructor(
    @Inject(UpgradeCommands) private readonly commands: UpgradeCommands,
    @Inject(UpgradeAnswers) private readonly answers: UpgradeAnswers,
    @Inject(LogFollower) private readonly follower: LogFollower,
  ) {}

  @Get()
  @RoleInNamespace('viewer')
  @Documented({
    id: 'listUpgrades',
    tag: 'upgrades',
    records: 'nothing',
    summary: 'The upgrades of a cluster, latest first',
    answers: [{ status: 200, description: 'The upgrades, without their plans', schema: UpgradeList }],
    refusals: [...READ_REFUSALS, 'list.continue-invalid'],
  })
  async list(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Query({ schema: ListQuery }) { minSeq = 0, ...query }: ListQuery,
    @FromCaller() { identity }: Caller,
    @IsWhole() isWhole: boolean,
  ): Promise<UpgradeList> {
    await this.follower.shown(minSeq);
    const request = pageRequest(`upgrades/${path.namespace}/${path.cluster}`, query, isWhole);
    const items = await this.answers.listOf(path, identity);
    return {
      kind: 'UpgradeList',
      ...pageOf(request, items, { keyOf: ({ requestedAt, id }) => `${requestedAt} ${id}`, order: 'descending' }),
    };
  }

  @Post()
  @OperatorCommand()
  @Documented({
    id: 'requestUpgrade',
    tag: 'upgrades',
    records: 'work',
    summary: 'Request an upgrade: versions, software, certificates or reboots',
    description:
      'The rules are checked and a plan is made; nothing is touched before the plan was approved by its hash, unless approved is true. Whether the cluster may be changed so is found by the checks: the upgrade is then Rejected, with the findings. Prefer: wait=N waits for the plan, with approved for the end of the rollout.',
    answers: [
      { status: 202, description: 'The request is recorded; Location is the upgrade', schema: UpgradeView },
      { status: 200, description: 'What was waited for: the plan, or how it ended', schema: UpgradeView },
    ],
    refusals: [
      'upgrade.no-changes',
      'upgrade.version-invalid',
      'upgrade.software-invalid',
      'upgrade.no-targets',
      'upgrade.force-unbounded',
      'upgrade.gate-url',
      'upgrade.gate-manifest',
      'upgrade.rule-unknown',
      'upgrade.rule-not-overridable',
      'upgrade.reason-missing',
      ...OF_CLUSTER,
      'cluster.deleting',
      'cluster.not-ready',
      'cluster.paused',
      'cluster.busy',
      'cluster.nodes-busy',
      'upgrade.open',
      'upgrade.pool-unknown',
      'template.version-fixed',
      ...CHANGE_REFUSALS,
    ],
  })
  async request(
    @Param({ schema: ClusterPath }) path: ClusterPath,
    @Body({ schema: UpgradeRequest }) request: UpgradeRequest,
    @Query({ schema: UpgradeQuery }) query: UpgradeQuery,
    @FromExchange() { caller, response }: Exchange,
  ): Promise<UpgradeView> {
    const dryRun = query.dryRun === 'true';
    const { upgrade, decided } = await this.commands.request(path, { request, dryRun }, caller);
    const waitMs = dryRun && caller.waitMs === 0 ? DRY_RUN_WAIT_MS : caller.waitMs;
    const isOver = request.approved && !dryRun ? isRolledOut : isPlanned;
    return this.answers.after({ ...path, upgrade }, decided, { isOver, caller: { ...caller, waitMs }, response });
  }

  @Get(':upgrade')
  @RoleInNamespace('viewer')
  @Documented({
    id: 'getUpgrade',
    tag: 'upgrades',
    records: 'nothing',
    summary: 'An upgrade: its plan, and how far it is on every node',
    answers: [{ status: 200, description: 'The upgrade', schema: UpgradeView }],
    refusals: [...READ_REFUSALS, 'upgrade.unknown'],
  })
  async get(
    @Param({ schema: UpgradePath }) path: UpgradePath,
    @Query({ schema: ReadQuery }) { minSeq = 0 }: ReadQuery,
    @FromCaller() { identity }: Caller,
  ): Promise<UpgradeView> {
    await this.follower.shown(minSeq);
    return this.answers.viewOf(path, identity);
  }
}
