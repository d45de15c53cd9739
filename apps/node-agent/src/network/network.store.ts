import { AgentNetworkMessage, NETWORK_PARTS, type ClusterUid } from '@fairlead/contracts';
import * as z from 'zod';
import type { AgentLog, HostPort } from '../node/host.ports.js';
import { replaceFile } from '../software/item.js';

const PATH = '/var/lib/fairlead/network.json';

const Kept = z.object({
  format: z.literal(1),
  desired: AgentNetworkMessage.nullable(),
  /** The last stated result, as text to compare. */
  stated: z.string().nullable(),
  /** Reverted parts: their content, as text to compare, and the reason. */
  reverted: z.partialRecord(
    z.enum(NETWORK_PARTS),
    z.strictObject({ content: z.string(), attempt: z.int(), command: z.string(), message: z.string() }),
  ),
});
export type Kept = z.infer<typeof Kept>;

const NOTHING: Kept = { format: 1, desired: null, stated: null, reverted: {} };

/**
 * State that survives restarts of the agent and boots: the desired configuration, so that it works without NATS, and
 * its result.
 */
export class NetworkStore {
  private kept: Kept = NOTHING;
  private saving: Promise<void> = Promise.resolve();

  constructor(
    private readonly host: HostPort,
    private readonly uid: ClusterUid,
    private readonly log: AgentLog,
  ) {}

  get now(): Kept {
    return this.kept;
  }

  async load(): Promise<void> {
    const text = await this.host.readFile(PATH);
    if (text === undefined) return;
    try {
      const kept = Kept.parse(JSON.parse(text));
      // Otherwise the host was part of another cluster.
      if (kept.desired === null || kept.desired.data.uid === this.uid) this.kept = kept;
    } catch (error) {
      this.log('warn', 'the network configuration cannot be read and is asked for', { cause: String(error) });
    }
  }

  /** Applies at once. Writes are sequential, and the newest is last. */
  write(change: Partial<Kept>): Promise<void> {
    const kept = { ...this.kept, ...change };
    this.kept = kept;
    const save = (): Promise<void> => replaceFile(this.host, PATH, `${JSON.stringify(kept)}\n`, 0o600);
    this.saving = this.saving.then(save, save);
    return this.saving;
  }
}
