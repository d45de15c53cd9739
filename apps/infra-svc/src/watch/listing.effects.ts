import { ExternalFailure, type ConnectionName } from '@fairlead/contracts';
import { inTime } from '@fairlead/service-kit';
import { Inject, Injectable } from '@nestjs/common';
import type { Settings } from '../config.js';
import { openConnection, whileCurrent } from '../connections/open.connection.js';
import type { Connections, ListedMachine, OpenConnection } from '../providers/provider.ports.js';
import { CONNECTIONS, SETTINGS } from '../tokens.js';
import { compare, NO_MEMORY, type Memory } from './comparison.planner.js';
import { FindingsLog } from './findings.log.effects.js';
import { WatchQueries } from './watch.queries.js';

/** Longer lists of a provider are rejected. */
const LISTED_MAX = 100_000;

/**
 * Lists the machines of a connection with a single call to its provider, and states each change that two lists agree
 * on.
 */
@Injectable()
export class ProviderListing {
  constructor(
    @Inject(CONNECTIONS) private readonly connections: Pick<Connections, 'open' | 'isCurrent'>,
    @Inject(WatchQueries) private readonly queries: Pick<WatchQueries, 'recorded' | 'orphans'>,
    @Inject(FindingsLog) private readonly log: Pick<FindingsLog, 'record'>,
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'watchTimeoutMs'>,
  ) {}

  /** Returns the findings for the next call. Rejects if the provider did not return a complete list. */
  async look(name: ConnectionName, before: Memory, signal: AbortSignal): Promise<Memory> {
    const open = await openConnection(this.connections, name, { retryable: true });
    // Rows are read first, so that machines created afterwards are in the list and not missing, never the other way
    // round.
    const recorded = await this.queries.recorded(name);
    const orphans = await this.queries.orphans(name);
    const listed = await whileCurrent(this.connections, open, () => this.list(open, signal));
    if (listed === undefined) return NO_MEMORY;
    const comparison = compare({ recorded, listed, orphans }, before);
    await this.log.record(name, comparison);
    return comparison.memory;
  }

  private async list(
    { connection: { name }, provider }: OpenConnection,
    signal: AbortSignal,
  ): Promise<readonly ListedMachine[]> {
    const listed = await inTime(this.settings.watchTimeoutMs, (late) =>
      provider.listMachines(AbortSignal.any([signal, late])),
    );
    if (listed.length <= LISTED_MAX) return listed;
    const message = `it lists ${listed.length} machines, more than ${LISTED_MAX}`;
    throw new ExternalFailure({ operation: 'list machines', target: name, message, retryable: false });
  }
}
