import {
  ExternalFailure,
  wordsOf,
  type AgentConfig,
  type AgentNetworkMessage,
  type DesiredNetwork,
} from '@fairlead/contracts';
import { AgentStops } from '../change/change.ports.js';
import type { AgentFact } from '../node/agent.facts.js';
import type { AgentLog, HostPort } from '../node/host.ports.js';
import { backoffMs } from '../time/backoff.js';
import type { Metronome } from '../time/metronome.js';
import { Reverted, type NetworkPart, type NetworkPlatform, type PartFailure } from './network.ports.js';
import { NetworkStore, type Kept } from './network.store.js';

/** Interval of drift checks. */
const LOOK_MS = 5 * 60_000;
const LOOK_JITTER = 0.5;
const RETRY = { firstMs: 2_000, maxMs: 5 * 60_000 };
const WORDS_MAX = 2_000;

export interface NetworkLoopParts {
  readonly config: Pick<AgentConfig, 'uid' | 'node'>;
  readonly host: HostPort;
  readonly platform: NetworkPlatform;
  /** In the order in which they are applied. */
  readonly parts: readonly NetworkPart[];
  readonly metronome: Metronome;
  readonly random: () => number;
  readonly log: AgentLog;
  /** `cause`: the ID of the event that requested the configuration. */
  readonly say: (facts: readonly AgentFact[], cause: string) => Promise<void>;
}

const contentOf = ({ data }: AgentNetworkMessage, part: NetworkPart['part']): string =>
  JSON.stringify(data[part]) ?? '';

/** Applies the desired network configuration of the node, one change at a time, and states the result. */
export class NetworkLoop {
  private readonly store: NetworkStore;
  private endWaiting = (): void => undefined;
  private turning: Promise<void> | undefined;
  private woken = false;
  private stopped = false;
  private failures = 0;
  private cancelRetry = (): void => undefined;
  private cancelLook = (): void => undefined;

  constructor(private readonly parts: NetworkLoopParts) {
    this.store = new NetworkStore(parts.host, parts.config.uid, parts.log);
  }

  /** Applies the stored configuration without waiting for NATS. */
  async start(): Promise<void> {
    const { metronome, random, platform } = this.parts;
    await this.store.load();
    platform.onNetwork((message, asked) => void this.take(message, asked));
    // Retries changes that waited for NATS.
    platform.onConnected(() => this.wake());
    this.cancelLook = metronome.every(LOOK_MS, { jitter: LOOK_JITTER, random }, () => this.wake());
    this.wake();
  }

  /** Sleeps inside a change. Rejects when the agent stops, which leaves the change unfinished as after a crash. */
  sleep(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (): void => reject(new AgentStops());
      if (this.stopped) return end();
      this.endWaiting = end;
      this.parts.metronome.after(ms, resolve);
    });
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.endWaiting();
    this.cancelRetry();
    this.cancelLook();
    await this.turning;
  }

  private async take(message: AgentNetworkMessage, asked: boolean): Promise<void> {
    const { config, log } = this.parts;
    const { uid, node, revision, attempt } = message.data;
    const { desired } = this.store.now;
    if (uid !== config.uid || node !== config.node) return;
    if (desired?.id === message.id || (!asked && desired !== null && message.seq < desired.seq)) return;
    try {
      await this.store.write({ desired: message });
    } catch (error) {
      // It applies nevertheless, and is written with its result.
      log('warn', 'the network configuration could not be kept', { cause: wordsOf(error) });
    }
    log('info', 'a new network configuration', { revision, attempt });
    this.failures = 0;
    this.wake();
  }

  private wake(): void {
    this.woken = true;
    if (this.stopped || this.turning !== undefined) return;
    this.turning = this.turnWhileWoken().finally(() => {
      this.turning = undefined;
    });
  }

  private async turnWhileWoken(): Promise<void> {
    while (this.woken && !this.stopped) {
      this.woken = false;
      try {
        await this.turn();
      } catch (error) {
        if (error instanceof AgentStops) return;
        this.parts.log('error', 'the network configuration could not be applied', { cause: wordsOf(error) });
        this.retryLater();
      }
    }
  }

  private async turn(): Promise<void> {
    const { desired } = this.store.now;
    if (desired === null) return;
    const failures: PartFailure[] = [];
    for (const part of this.parts.parts) {
      const failure = await this.apply(part, desired);
      if (failure !== undefined) failures.push(failure);
    }
    await this.state(desired, failures);
    if (failures.some(({ reverted }) => !reverted)) this.retryLater();
    else this.failures = 0;
  }

  /** A reverted change is not retried until its content changes, or an operator requests it. */
  private async apply(part: NetworkPart, desired: AgentNetworkMessage): Promise<PartFailure | undefined> {
    const { log } = this.parts;
    const name = part.part;
    const { attempt } = desired.data;
    const before = this.store.now.reverted[name];
    const content = contentOf(desired, name);
    if (before !== undefined && before.content === content && before.attempt >= attempt) {
      const { command, message } = before;
      return { part: name, command, message, reverted: true };
    }
    try {
      await part.apply(desired.data as DesiredNetwork);
      await this.setReverted(name, undefined);
      return undefined;
    } catch (error) {
      if (error instanceof AgentStops) throw error;
      const failure = failureOf(name, error);
      log('warn', 'a part of the network configuration failed', { ...failure });
      const { command, message, reverted } = failure;
      await this.setReverted(name, reverted ? { content, attempt, command, message } : undefined);
      return failure;
    }
  }

  private async setReverted(part: NetworkPart['part'], how: Kept['reverted'][NetworkPart['part']]): Promise<void> {
    const { [part]: before, ...others } = this.store.now.reverted;
    if (before === undefined && how === undefined) return;
    await this.store.write({ reverted: how === undefined ? others : { ...others, [part]: how } });
  }

  private async state({ id, data }: AgentNetworkMessage, failures: readonly PartFailure[]): Promise<void> {
    const { uid, node, revision, attempt } = data;
    const of = { uid, node, revision, attempt };
    const stated = JSON.stringify([revision, attempt, failures]);
    if (stated === this.store.now.stated) return;
    const fact: AgentFact =
      failures.length === 0
        ? { type: 'NodeNetworkApplied', data: of }
        : { type: 'NodeNetworkFailed', data: { ...of, failures: [...failures] } };
    await this.parts.say([fact], id);
    await this.store.write({ stated });
  }

  private retryLater(): void {
    this.failures += 1;
    this.cancelRetry();
    const delayMs = backoffMs(RETRY, this.failures, this.parts.random);
    this.cancelRetry = this.parts.metronome.after(delayMs, () => this.wake());
  }
}

const short = (text: string): string => text.slice(0, WORDS_MAX);

const failureOf = (part: NetworkPart['part'], error: unknown): PartFailure => {
  if (error instanceof Reverted)
    return { part, command: short(error.command), message: short(error.message), reverted: true };
  const command = error instanceof ExternalFailure ? error.operation : '';
  const message = error instanceof ExternalFailure ? error.message : wordsOf(error);
  return { part, command: short(command), message: short(message), reverted: false };
};
