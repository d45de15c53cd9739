import { refuse, type StoredEvent, type UpgradeSummary, type UpgradeView } from '@fairlead/contracts';
import type { Decided } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import type { ClusterAddress } from '../clusters/clusters.commands.js';
import type { Identity } from '../auth/identity.js';
import { ClusterQueries } from '../clusters/clusters.queries.js';
import type { RecordedViews } from '../common/recorded.views.js';
import { accept } from '../http/answers.js';
import type { Caller } from '../http/caller.js';
import type { HttpResponse } from '../http/http.types.js';
import { LogFollower } from '../http/log.follower.js';
import { Refused } from '../http/refused.js';
import { Incarnations } from '../namespaces/incarnations.js';
import type { IsOver } from './upgrade.ends.js';
import type { UpgradeAddress } from './upgrades.commands.js';
import type { UpgradesState } from './upgrades.decider.js';
import { UpgradeQueries } from './upgrades.queries.js';

export interface Waiting {
  readonly isOver: IsOver;
  readonly caller: Caller;
  readonly response: HttpResponse;
}

/** Answers a command about an upgrade with the upgrade, after what its caller wants to wait for. */
@Injectable()
export class UpgradeAnswers {
  constructor(
    @Inject(UpgradeQueries) private readonly queries: UpgradeQueries,
    @Inject(ClusterQueries) private readonly clusters: ClusterQueries,
    @Inject(Incarnations) private readonly incarnations: Incarnations,
    @Inject(LogFollower) private readonly follower: LogFollower,
  ) {}

  async viewOf({ namespace, cluster, upgrade }: UpgradeAddress, identity: Identity): Promise<UpgradeView> {
    const after = await this.incarnations.visibleAfter(namespace, identity);
    const view = await this.queries.one({ namespace, cluster, upgrade }, after);
    if (view === undefined) throw new Refused(refuse('upgrade.unknown', { namespace, cluster, upgrade }));
    return view;
  }

  private async recordedOf(
    recorded: RecordedViews,
    { namespace, cluster, upgrade }: UpgradeAddress,
  ): Promise<UpgradeView> {
    const view = await recorded.upgrade(namespace, cluster, upgrade);
    if (view === undefined) throw new Refused(refuse('upgrade.unknown', { namespace, cluster, upgrade }));
    return view;
  }

  /** Latest first. */
  async listOf({ namespace, cluster }: ClusterAddress, identity: Identity): Promise<UpgradeSummary[]> {
    if (!(await this.clusters.exists(namespace, cluster)))
      throw new Refused(refuse('cluster.unknown', { namespace, cluster }));
    return this.queries.all(namespace, cluster, await this.incarnations.visibleAfter(namespace, identity));
  }

  async after(
    address: UpgradeAddress,
    decided: Decided<UpgradesState>,
    { isOver, caller, response }: Waiting,
  ): Promise<UpgradeView> {
    // What came of a wish that is a repetition may lie in the past: its caller is told how it stands.
    const isRepetition = decided.events.length === 0;
    const ended = isRepetition ? undefined : await this.wait(address, decided.seq, { isOver, caller });
    const seq = ended?.meta.seq ?? decided.seq;
    const location = `/ns/${address.namespace}/clusters/${address.cluster}/upgrades/${address.upgrade}`;
    const waited = ended !== undefined;
    accept(response, { seq, location, status: waited ? 200 : 202, waited });
    return this.follower.afterRecord(
      seq,
      () => this.viewOf(address, caller.identity),
      (recorded) => this.recordedOf(recorded, address),
    );
  }

  private wait(
    { namespace, cluster, upgrade }: UpgradeAddress,
    afterSeq: number,
    { isOver, caller }: Pick<Waiting, 'isOver' | 'caller'>,
  ): Promise<StoredEvent | undefined> {
    const isItsEnd = (event: StoredEvent): boolean =>
      event.type === 'ClusterDeletionRequested' ||
      ('upgradeId' in event.data && event.data.upgradeId === upgrade && isOver(event));
    return this.follower.wait({ namespace, cluster, afterSeq, isOver: isItsEnd }, caller);
  }
}
