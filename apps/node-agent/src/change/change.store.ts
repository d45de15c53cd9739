import * as z from 'zod';
import type { AgentLog, HostPort } from '../node/host.ports.js';
import { replaceFile } from '../software/item.js';
import type { ChangeRecord } from './change.decider.js';

const PATH = '/var/lib/fairlead/change.json';

const PhaseRecord = z.strictObject({
  status: z.enum(['started', 'done', 'failed']),
  attempts: z.int().min(0),
  message: z.string().optional(),
});
const Record = z.strictObject({
  id: z.string(),
  revision: z.int(),
  phases: z.strictObject({
    stage: PhaseRecord.optional(),
    kubeadm: PhaseRecord.optional(),
    kubelet: PhaseRecord.optional(),
    certificates: PhaseRecord.optional(),
    runtime: PhaseRecord.optional(),
    reboot: PhaseRecord.optional(),
    'etcd-stop': PhaseRecord.optional(),
    'etcd-restore': PhaseRecord.optional(),
    'etcd-start': PhaseRecord.optional(),
    'etcd-undo': PhaseRecord.optional(),
    'kubelet-restart': PhaseRecord.optional(),
  }),
  ownServer: z.string().nullable(),
  startedKubelet: z.string().nullable().default(null),
  bootIdBefore: z.string().nullable(),
  isFinished: z.boolean(),
});

const Memory = z.strictObject({
  format: z.literal(1),
  change: Record.nullable(),
  /** The last change that was staged ahead of its permission. */
  staged: z.string().nullable(),
  /** The last reported certificates, as text to compare. */
  certificates: z.string().nullable(),
  /** The last reported addresses, likewise; absent: none. */
  addresses: z.string().optional(),
});
/** State that survives restarts of the agent and boots. */
export interface Memory {
  readonly format: 1;
  readonly change: ChangeRecord | null;
  readonly staged: string | null;
  readonly certificates: string | null;
  readonly addresses?: string | undefined;
}

const NOTHING: Memory = { format: 1, change: null, staged: null, certificates: null };

/**
 * The node's persistent record of its changes, written before and after each phase. If it is lost, idempotent commands
 * and a reboot may be repeated.
 */
export class ChangeStore {
  private loaded: Memory | undefined;

  constructor(
    private readonly host: HostPort,
    private readonly log: AgentLog,
  ) {}

  async read(): Promise<Memory> {
    return (this.loaded ??= await this.load());
  }

  async write(change: Partial<Memory>): Promise<void> {
    const next = { ...(await this.read()), ...change };
    await replaceFile(this.host, PATH, `${JSON.stringify(next)}\n`, 0o600);
    this.loaded = next;
  }

  private async load(): Promise<Memory> {
    const text = await this.host.readFile(PATH);
    if (text === undefined) return NOTHING;
    try {
      return Memory.parse(JSON.parse(text)) as Memory;
    } catch (error) {
      this.log('warn', 'the memory of changes cannot be read and is forgotten', { cause: String(error) });
      return NOTHING;
    }
  }
}
