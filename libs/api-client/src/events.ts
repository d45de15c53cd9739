import { parseJson } from '@fairlead/parsers';
import type { FairleadClientOptions, Schemas } from './client.js';
import { messages, StreamFailed } from './messages.js';

export type FairleadEvent = Schemas['Event'];

export interface EventsOptions extends FairleadClientOptions {
  /** Absent: the whole log, which requires an administrator's token. */
  readonly of?: { readonly namespace: string; readonly cluster: string };
  /** Only events after this sequence. */
  readonly after?: number;
  /** Only these types. */
  readonly types?: readonly string[];
  /** Ends the stream. */
  readonly signal: AbortSignal;
  /** Called when a connection was accepted. */
  readonly onConnected?: () => void;
  /** Called when a connection broke or was rejected, before it is retried. */
  readonly onDisconnected?: (words: string) => void;
}

const BACKOFF_FIRST_MS = 100;
const BACKOFF_MAX_MS = 5_000;
const OUTAGE_MAX_MS = 300_000;
const SERVER_ERROR_MIN = 500;

const urlOf = ({ baseUrl, of, types }: EventsOptions, after: number): URL => {
  const path =
    of === undefined
      ? '/events/stream'
      : `/ns/${encodeURIComponent(of.namespace)}/clusters/${encodeURIComponent(of.cluster)}/events/stream`;
  const url = new URL(`${baseUrl.replace(/\/$/, '')}${path}`);
  url.searchParams.set('after', String(after));
  if (types !== undefined && types.length > 0) url.searchParams.set('type', types.join(','));
  return url;
};

/** An event has at most 1 MiB. */
const MESSAGE_LENGTH_MAX = 2 * 1_048_576;

/** One connection, until it ends. */
async function* connect(options: EventsOptions, after: number): AsyncGenerator<FairleadEvent> {
  const headers = { 'Last-Event-ID': String(after) };
  for await (const { data } of messages(urlOf(options, after), options, headers))
    yield parseJson(data, { lengthMax: MESSAGE_LENGTH_MAX }) as FairleadEvent;
}

const isFinal = (error: unknown): boolean =>
  error instanceof StreamFailed && error.status !== undefined && error.status < SERVER_ERROR_MIN;

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done, { once: true });
  });

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * The events after `after`, and then each new one as it happens, in order, without duplicates. Reconnects after the
 * last received event. Ends with the signal; throws StreamFailed if the gateway refuses, or is unreachable for five
 * minutes.
 */
export async function* events(options: EventsOptions): AsyncGenerator<FairleadEvent> {
  let last = options.after ?? 0;
  let backoffMs = BACKOFF_FIRST_MS;
  let heardAtMs = Date.now();
  while (!options.signal.aborted) {
    let words = 'the connection ended';
    try {
      for await (const event of connect(options, last)) {
        backoffMs = BACKOFF_FIRST_MS;
        heardAtMs = Date.now();
        if (event.seq <= last) continue;
        last = event.seq;
        yield event;
      }
      // A replica that shuts down ends its streams gracefully: that is not an outage.
      heardAtMs = Date.now();
    } catch (error) {
      if (options.signal.aborted) return;
      if (isFinal(error)) throw error;
      words = wordsOf(error);
      options.onDisconnected?.(words);
    }
    if (Date.now() - heardAtMs > OUTAGE_MAX_MS) throw new StreamFailed(words, undefined, undefined);
    await pause(backoffMs, options.signal);
    backoffMs = Math.min(backoffMs * 2, BACKOFF_MAX_MS);
  }
}
