import { wordsOf, type AgentConfig, type AgentDesiredMessage } from '@fairlead/contracts';
import type { AgentLog } from '../node/host.ports.js';
import type { Platform } from './agent.ports.js';
import type { Desired } from '../node/desired.state.js';
import type { Journal } from './journal.js';

export interface DesiredSourceParts {
  readonly config: AgentConfig;
  readonly platform: Pick<Platform, 'onDesired' | 'onConnected' | 'isConnected' | 'isSynced' | 'sync'>;
  readonly journal: Pick<Journal, 'desired' | 'setDesired'>;
  readonly log: AgentLog;
  /** Called with each new revision. */
  readonly onNew: (desired: Desired) => void;
}

const desiredOf = ({ id, data }: AgentDesiredMessage): Desired => {
  const { revision, software, changesAllowed, changesAllowedUntil, change, stage, repair, probes, releases } = data;
  return {
    revision,
    software,
    changesAllowed,
    ...(changesAllowedUntil === undefined ? {} : { changesAllowedUntil }),
    ...(change === undefined ? {} : { change }),
    ...(stage === undefined ? {} : { stage }),
    ...(repair === undefined ? {} : { repair }),
    ...(probes === undefined ? {} : { probes }),
    ...(releases === undefined ? {} : { releases }),
    event: id,
  };
};

/** The desired state of this node: received when it is decided, and requested when it may have been missed. */
export class DesiredSource {
  constructor(private readonly parts: DesiredSourceParts) {}

  /** The newest of the received states and the initial one of the configuration. */
  get current(): Desired {
    const { config, journal } = this.parts;
    const received = journal.desired;
    return received !== null && received.revision >= config.desired.revision
      ? received
      : { ...config.desired, event: null };
  }

  /** Resolves once it was requested, if the services are reachable. */
  async start(): Promise<void> {
    const { platform } = this.parts;
    platform.onDesired((desired) => void this.receive(desired));
    await this.askOnce();
    platform.onConnected(() => void this.askOnce());
  }

  /** Once per connection: later states arrive over the connection. */
  private async askOnce(): Promise<void> {
    if (!this.parts.platform.isSynced()) await this.ask();
  }

  /** Requests the desired state. The reply is handled like a pushed one. */
  async ask(): Promise<void> {
    const { platform, log } = this.parts;
    if (!platform.isConnected()) return;
    try {
      await platform.sync(false);
    } catch (error) {
      log('warn', 'the desired state could not be read; asking again later', { cause: String(error) });
    }
  }

  private async receive(desired: AgentDesiredMessage): Promise<void> {
    try {
      await this.take(desired);
    } catch (error) {
      // The host itself fails (e.g. a full disk). The received state already applies, and is written with the next
      // fact.
      this.parts.log('warn', 'the desired state could not be kept', { cause: wordsOf(error) });
    }
  }

  private async take(message: AgentDesiredMessage): Promise<void> {
    const { config, journal, log, onNew } = this.parts;
    const { uid, node } = message.data;
    if (uid !== config.uid || node !== config.node) return;
    const desired = desiredOf(message);
    const before = this.current;
    const { revision, changesAllowed } = desired;
    if (revision < before.revision || (revision === before.revision && before.event !== null)) return;
    await journal.setDesired(desired);
    if (revision === before.revision) return;
    log('info', 'a new desired state', { revision, changesAllowed });
    onNew(desired);
  }
}
