import type { ConnectionName } from '@fairlead/contracts';
import type { Cause } from '@fairlead/event-sourcing';
import { HANDLE, type Handle } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import pLimit from 'p-limit';
import { machines } from '../machines/machines.decider.js';
import { retryOnConflict } from '../append.conflict.js';
import { resourcesStream } from '../resources/resources.decider.js';
import type { ClusterFindings, Comparison } from './comparison.planner.js';
import { orphans } from './orphans.decider.js';
import { PlannedMachines } from '../machines/planned.machines.effects.js';

const CLUSTERS_AT_ONCE_MAX = 8;

/** States the findings of lists; known facts are not stated again. */
@Injectable()
export class FindingsLog {
  constructor(
    @Inject(PlannedMachines) private readonly planned: PlannedMachines,
    @Inject(HANDLE) private readonly handle: Handle,
  ) {}

  async record(name: ConnectionName, { clusters, orphans: found }: Comparison): Promise<void> {
    const id = randomUUID();
    const cause: Cause = { actor: 'system/infra-svc', correlationId: id, causationId: id };
    const limit = pLimit(CLUSTERS_AT_ONCE_MAX);
    await Promise.all(clusters.map((cluster) => limit(() => this.recordCluster(name, cluster, cause))));
    await this.recordOrphans(name, found, cause);
  }

  private async recordCluster(
    connection: ConnectionName,
    { namespace, cluster, ...findings }: ClusterFindings,
    cause: Cause,
  ): Promise<void> {
    const stream = { namespace, cluster, context: 'machines' };
    const command = { type: 'RecordLook', data: { connection, ...findings } } as const;
    retryOnConflict(await this.handle(machines, stream, command, cause), cluster);
  }

  /** Rows may be outdated, so the log is checked before a machine is recorded as an orphan. */
  private async recordOrphans(
    connection: ConnectionName,
    { found, gone }: Comparison['orphans'],
    cause: Cause,
  ): Promise<void> {
    const checked = await Promise.all(
      found.map(async (orphan) => ((await this.planned.by(orphan, cause)) === undefined ? [orphan] : [])),
    );
    const confirmed = checked.flat();
    if (confirmed.length === 0 && gone.length === 0) return;
    const command = { type: 'RecordOrphans', data: { connection, found: confirmed, gone } } as const;
    retryOnConflict(await this.handle(orphans, resourcesStream(connection), command, cause), connection);
  }
}
