import { refuse, type StoredEvent, type UpgradeSummary, type UpgradeView } from '@fairlead/contracts';
import type { Decided } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import type { ClusterAddress } from '../common/cluster.address.js';
import type { Identity } from '../access/identity.js';
import { ClusterIndex } from '../lifecycle/cluster.index.queries.js';
import type { Caller } from '../http/caller.js';
import type { HttpResponse } from '../http/http.types.js';
import { CommandAnswers } from '../http/command.answers.js';
import { RefusalError } from '../http/refusal.error.js';
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
    @Inject(ClusterIndex) private readonly clusters: ClusterIndex,
    @Inject(Incarnations) private readonly incarnations: Incarnations,
    @Inject(CommandAnswers) private readonly answers: CommandAnswers,
  ) {}

  async viewOf({ namespace, cluster, upgrade }: UpgradeAddress, identity: Identity): Promise<UpgradeView> {
    const after = await this.incarnations.visibleAfter(namespace, identity);
    const view = await this.queries.one({ namespace, cluster, upgrade }, after);
    if (view === undefined) throw new RefusalError(refuse('upgrade.unknown', { namespace, cluster, upgrade }));
    return view;
  }

  /** Latest first. */
  async listOf({ namespace, cluster }: ClusterAddress, identity: Identity): Promise<UpgradeSummary[]> {
    if (!(await this.clusters.exists(namespace, cluster)))
      throw new RefusalError(refuse('cluster.unknown', { namespace, cluster }));
    return this.queries.all(namespace, cluster, await this.incarnations.visibleAfter(namespace, identity));
  }

  after(
    address: UpgradeAddress,
    decided: Decided<UpgradesState>,
    { isOver, caller, response }: Waiting,
  ): Promise<UpgradeView> {
    const { namespace, cluster, upgrade } = address;
    const isItsEnd = (event: StoredEvent): boolean =>
      event.type === 'ClusterDeletionRequested' ||
      ('upgradeId' in event.data && event.data.upgradeId === upgrade && isOver(event));
    // What came of a repetition may lie in the past: it is answered with how the upgrade stands.
    const isRepetition = decided.events.length === 0;
    return this.answers.respond({ caller, response }, decided, {
      address: { namespace, cluster },
      location: `/ns/${namespace}/clusters/${cluster}/upgrades/${upgrade}`,
      ...(isRepetition ? {} : { isOver: isItsEnd }),
      view: ({ seq }) =>
        this.answers.viewAt(seq, {
          rows: () => this.viewOf(address, caller.identity),
          log: () => this.queries.recorded(address),
          otherwise: refuse('upgrade.unknown', { namespace, cluster, upgrade }),
        }),
    });
  }
}
