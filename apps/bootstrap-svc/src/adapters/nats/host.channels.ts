import {
  agentOutputSubject,
  HOST_FILE_BYTES_MAX,
  HOST_REPLY_FILTER,
  HostReply,
  parseAgentInput,
  ExternalFailure,
  wordsOf,
  type HostOrder,
  type HostStream,
  type NodeAddress,
} from '@fairlead/contracts';
import { quote, sentStep } from '@fairlead/node-scripts';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import type { NatsConnection } from '@nats-io/transport-node';
import { createHash, randomUUID } from 'node:crypto';
import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { HostFile, HostScript, HostSession, OpenOptions, ScriptOutput } from '../../hosts/hosts.ports.js';

/** A reply of a host is at most as long as a message of an agent. */
const REPLY_LENGTH_MAX = 65_536;

export const replyIn = (text: string) =>
  HostReply.safeParse(parseJsonOrUndefined(text, { lengthMax: REPLY_LENGTH_MAX }));
/** Read limit for a host's output. */
const OUTPUT_BYTES_MAX = 4 * 1_048_576;
const STDERR_TAIL_CHARS = 2_000;
/** An order without a reply is sent again; after this time without a reply, it fails. */
const AGAIN_MS = 2_000;
const SILENT_MS = 30_000;
/** Interval at which a host is asked whether a command has ended; usually its own message arrives first. */
const ASK_MS = 5_000;
const LIMIT_SLACK_MS = 30_000;
const TRY_FIRST_MS = 500;
const TRY_MAX_MS = 5_000;

type Kind = HostReply['kind'];
type Reply<Expected extends Kind> = Extract<HostReply, { kind: Expected }>;

interface Open {
  readonly place: string;
  readonly accept: (reply: HostReply) => void;
}

const placeOf = ({ namespace, cluster, node }: NodeAddress): string => `${namespace}/${cluster}/${node}`;

const tail = (text: string): string => text.trim().slice(-STDERR_TAIL_CHARS);

/**
 * Replaces the SSH host key of a host that connects by itself: only the holder of its key can reply on its node's
 * subject.
 */
const fingerprintOf = (address: NodeAddress): string =>
  `SHA256:${createHash('sha256').update(placeOf(address)).digest('base64').replace(/=$/, '')}`;

/** Hosts that connect by themselves: their own NATS connection replaces SSH. */
export class HostChannels {
  private readonly waiting = new Map<string, Open>();
  private isSubscribed = false;

  constructor(private readonly nats: NatsConnection) {}

  /** Retries until the host replies, at most `triesMax` times and until `deadlineMs`. */
  async open(address: NodeAddress, { signal, triesMax, deadlineMs, onFailedTry }: OpenOptions): Promise<HostSession> {
    const untilMs = Date.now() + deadlineMs;
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      try {
        await this.ask(address, { kind: 'ping', id: randomUUID() }, ['alive'], { signal, silentMs: AGAIN_MS * 2 });
        return new ChannelSession(this, address, attempt);
      } catch (error) {
        signal.throwIfAborted();
        const delayMs = Math.min(TRY_FIRST_MS * 2 ** (attempt - 1), TRY_MAX_MS);
        if (attempt >= triesMax || Date.now() + delayMs >= untilMs) throw error;
        await onFailedTry?.({
          attempt,
          message: wordsOf(error),
          nextAt: new Date(Date.now() + delayMs),
          until: new Date(untilMs),
        });
        await sleep(delayMs, undefined, { signal });
      }
    }
  }

  /**
   * Sends an order until one of the expected replies arrives. Rejects with ExternalFailure if the host is silent or
   * reports a failure.
   */
  async ask<Expected extends Kind>(
    address: NodeAddress,
    order: HostOrder,
    expected: readonly Expected[],
    { signal, silentMs = SILENT_MS }: { readonly signal: AbortSignal; readonly silentMs?: number },
  ): Promise<Reply<Expected>> {
    this.subscribe();
    const { id } = order;
    const failure = (message: string): ExternalFailure =>
      new ExternalFailure({ operation: 'reach the host by its own connection', target: address.node, message });
    return new Promise<Reply<Expected>>((resolve, reject) => {
      const key = `${id}/${randomUUID()}`;
      const send = (): void => this.nats.publish(agentOutputSubject(address, 'order'), JSON.stringify(order));
      const end = (work: () => void): void => {
        clearInterval(again);
        clearTimeout(late);
        signal.removeEventListener('abort', aborted);
        this.waiting.delete(key);
        work();
      };
      const aborted = (): void => end(() => reject(signal.reason as Error));
      const again = setInterval(send, AGAIN_MS);
      const late = setTimeout(
        () => end(() => reject(failure(`the host did not reply within ${silentMs / 1_000} s`))),
        silentMs,
      );
      signal.addEventListener('abort', aborted, { once: true });
      this.waiting.set(key, {
        place: placeOf(address),
        accept: (reply) => {
          if (reply.id !== id) return;
          if (reply.kind === 'failed') return end(() => reject(failure(reply.message)));
          if ((expected as readonly Kind[]).includes(reply.kind)) end(() => resolve(reply as Reply<Expected>));
        },
      });
      send();
    });
  }

  private subscribe(): void {
    if (this.isSubscribed) return;
    this.isSubscribed = true;
    this.nats.subscribe(HOST_REPLY_FILTER, {
      callback: (error, message) => {
        if (error !== null || this.waiting.size === 0) return;
        const address = parseAgentInput(message.subject);
        if (address === undefined) return;
        const place = placeOf(address);
        const open = [...this.waiting.values()].filter((one) => one.place === place);
        if (open.length === 0 || message.data.length > REPLY_LENGTH_MAX) return;
        const reply = replyIn(message.string());
        if (reply.success) for (const { accept } of open) accept(reply.data);
      },
    });
  }
}

/** Uses the channel of a host like an SSH session of root. */
class ChannelSession implements HostSession {
  readonly hostKey: string;
  readonly jumpHostKey = null;

  constructor(
    private readonly channels: HostChannels,
    private readonly address: NodeAddress,
    readonly attempts: number,
  ) {
    this.hostKey = fingerprintOf(address);
  }

  async run({ name, operation, text, input, limitMs }: HostScript, signal: AbortSignal): Promise<ScriptOutput> {
    const { command, stdin } = sentStep({ name, script: text, input });
    return this.exec({ command, stdin, operation, limitMs: limitMs + LIMIT_SLACK_MS }, signal);
  }

  async exists(path: string, signal: AbortSignal): Promise<boolean> {
    const { exists } = await this.channels.ask(this.address, { kind: 'exists', id: randomUUID(), path }, ['exists'], {
      signal,
    });
    return exists;
  }

  async upload({ path, content, mode, sha256 }: HostFile, signal: AbortSignal): Promise<void> {
    const operation = `upload ${path}`;
    const staged = `${path}.${sha256.slice(0, 12)}-${randomUUID().slice(0, 8)}`;
    let at = 0;
    for await (const chunk of chunksOf(content)) {
      const data = Buffer.from(chunk).toString('base64');
      await this.channels.ask(this.address, { kind: 'write', id: randomUUID(), path: staged, at, data }, ['written'], {
        signal,
      });
      at += chunk.length;
    }
    const on = (file: string): string => `"\${FAIRLEAD_ROOT:-}"${quote(file)}`;
    const command = [
      `printf '%s  %s\\n' ${sha256} ${on(staged)} | sha256sum --check --status`,
      `chmod ${mode.toString(8)} ${on(staged)}`,
      `mv -f ${on(staged)} ${on(path)}`,
    ].join(' && ');
    await this.exec({ command, stdin: '', operation, limitMs: SILENT_MS }, signal);
  }

  release(): void {
    // The channel needs no close.
  }

  private async exec(
    asked: { readonly command: string; readonly stdin: string; readonly operation: string; readonly limitMs: number },
    signal: AbortSignal,
  ): Promise<ScriptOutput> {
    const { command, stdin, operation, limitMs } = asked;
    const id = randomUUID();
    const failure = (message: string): ExternalFailure =>
      new ExternalFailure({ operation, target: this.address.node, message });
    try {
      await this.ask({ kind: 'run', id, command, stdin, limitMs }, ['running', 'ended'], signal);
      const ended = await this.untilEnded(id, signal);
      if (ended === undefined) throw failure('the connection of the host began again while it ran');
      const { code, signal: endedBy, late } = ended;
      if (late) throw failure(`it was not done after ${limitMs / 1_000} s`);
      const [stdout, stderr] = [
        await this.read(id, 'stdout', ended, signal),
        await this.read(id, 'stderr', ended, signal),
      ];
      if (code === 0) return { stdout, stderr };
      if (code === null) throw failure(endedBy === null ? 'it could not be started' : `it was ended by ${endedBy}`);
      throw failure(tail(stderr) || tail(stdout) || `it ended with exit code ${code}`);
    } finally {
      // The result is no longer needed: ends and removes the command.
      void this.ask({ kind: 'kill', id }, ['unknown'], new AbortController().signal, AGAIN_MS).catch(() => undefined);
    }
  }

  /**
   * The host reports the end by itself; it is also polled, because that message may be lost. undefined: the host does
   * not know the command.
   */
  private async untilEnded(id: string, signal: AbortSignal): Promise<Reply<'ended'> | undefined> {
    for (;;) {
      const next = await this.ask({ kind: 'ask', id }, ['ended', 'unknown'], signal, ASK_MS).catch((error: unknown) => {
        if (signal.aborted || !(error instanceof ExternalFailure)) throw error;
        return undefined;
      });
      if (next?.kind === 'ended') return next;
      if (next?.kind === 'unknown') return undefined;
      // The command still runs, or the host is unreachable: this call determines which.
      const state = await this.ask({ kind: 'ask', id }, ['running', 'ended', 'unknown'], signal);
      if (state.kind === 'ended') return state;
      if (state.kind === 'unknown') return undefined;
    }
  }

  private async read(id: string, stream: HostStream, ended: Reply<'ended'>, signal: AbortSignal): Promise<string> {
    const size = Math.min(ended[stream], OUTPUT_BYTES_MAX);
    const parts: Buffer[] = [];
    let at = 0;
    while (at < size) {
      const reply = await this.ask({ kind: 'read', id, stream, at }, ['output', 'unknown'], signal);
      if (reply.kind === 'unknown') break;
      if (reply.stream !== stream || reply.at !== at) continue;
      const data = Buffer.from(reply.data, 'base64');
      if (data.length === 0) break;
      parts.push(data);
      at += data.length;
    }
    return Buffer.concat(parts).toString('utf8');
  }

  private ask<Expected extends Kind>(
    order: HostOrder,
    expected: readonly Expected[],
    signal: AbortSignal,
    silentMs = SILENT_MS,
  ): Promise<Reply<Expected>> {
    return this.channels.ask(this.address, order, expected, { signal, silentMs });
  }
}

async function* chunksOf(content: Uint8Array | string): AsyncIterable<Uint8Array> {
  if (typeof content !== 'string') {
    for (let at = 0; at === 0 || at < content.length; at += HOST_FILE_BYTES_MAX)
      yield content.subarray(at, at + HOST_FILE_BYTES_MAX);
    return;
  }
  const file = await open(content, 'r');
  try {
    for (let at = 0; ;) {
      const buffer = Buffer.alloc(HOST_FILE_BYTES_MAX);
      const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0 && at > 0) return;
      yield buffer.subarray(0, bytesRead);
      if (bytesRead < buffer.length) return;
      at += bytesRead;
    }
  } finally {
    await file.close();
  }
}
