import { desiredVersionsSubject, Envelope, EVENTS, wordsOf, type AgentConfig } from '@fairlead/contracts';
import type { AgentLog, EventLog } from './agent.ports.js';
import type { Desired } from './agent.state.js';
import type { Journal } from './journal.js';

/** An agent may be older than the services that it listens to: what it does not know, it leaves aside. */
const AnyEnvelope = Envelope.strip();
const AnyDesired = EVENTS.DesiredVersionsSet.data.strip();

export interface DesiredSourceParts {
  readonly config: AgentConfig;
  readonly events: Pick<EventLog, 'subscribe' | 'onConnected' | 'isConnected' | 'last'>;
  readonly journal: Pick<Journal, 'desired' | 'setDesired'>;
  readonly log: AgentLog;
  /** Called after a revision that was not known before. */
  readonly onNew: (desired: Desired) => void;
}

/** What a message says that a node shall be, and which node; undefined: it cannot be read. */
const read = (bytes: Uint8Array): (Desired & { readonly uid: string; readonly node: string }) | undefined => {
  const envelope = AnyEnvelope.safeParse(jsonIn(bytes));
  const parsed = AnyDesired.safeParse(envelope.data?.data);
  if (!envelope.success || !parsed.success) return undefined;
  const { uid, node, revision, software, changesAllowed, change, stage, probes } = parsed.data;
  return {
    uid,
    node,
    revision,
    software,
    changesAllowed,
    ...(change === undefined ? {} : { change }),
    ...(stage === undefined ? {} : { stage }),
    ...(probes === undefined ? {} : { probes }),
    because: { correlationId: envelope.data.correlationid, causationId: envelope.data.id },
  };
};

const jsonIn = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return undefined; // No schema takes it: it is told as one that cannot be read.
  }
};

/** What the log says that this node shall be: heard when it is said, and asked for where it may have been missed. */
export class DesiredSource {
  private readonly subject: string;

  constructor(private readonly parts: DesiredSourceParts) {
    const { namespace, cluster, node } = parts.config;
    this.subject = desiredVersionsSubject(namespace, cluster, node);
  }

  /** The newest of what the log says and what the configuration began with. */
  get current(): Desired {
    const { config, journal } = this.parts;
    const known = journal.desired;
    return known !== null && known.revision >= config.desired.revision ? known : { ...config.desired, because: null };
  }

  /** Resolves when the log was asked, if it can be. */
  async start(): Promise<void> {
    const { events } = this.parts;
    events.subscribe(this.subject, (bytes) => void this.hear(bytes));
    await this.ask();
    events.onConnected(() => void this.ask());
  }

  async ask(): Promise<void> {
    const { events, log } = this.parts;
    if (!events.isConnected()) return;
    try {
      const message = await events.last(this.subject);
      if (message !== undefined) await this.take(message.bytes);
    } catch (error) {
      log('warn', 'the desired state could not be read; asking again later', { cause: String(error) });
    }
  }

  private async hear(bytes: Uint8Array): Promise<void> {
    try {
      await this.take(bytes);
    } catch (error) {
      // The host itself fails (a full disk). What was heard counts already, and is written with what is said next.
      this.parts.log('warn', 'the desired state could not be kept', { cause: wordsOf(error) });
    }
  }

  private async take(bytes: Uint8Array): Promise<void> {
    const { config, journal, log, onNew } = this.parts;
    const found = read(bytes);
    if (found === undefined) return log('error', 'a desired state that cannot be read is ignored');
    const { uid, node, ...desired } = found;
    if (uid !== config.uid || node !== config.node) return;
    const before = this.current;
    const { revision, changesAllowed } = desired;
    if (revision < before.revision || (revision === before.revision && before.because !== null)) return;
    await journal.setDesired(desired);
    if (revision === before.revision) return;
    log('info', 'a new desired state', { revision, changesAllowed });
    onNew(desired);
  }
}
