import { parseJsonOrUndefined } from '@fairlead/parsers';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { FairleadClientOptions, Schemas } from './client.js';

/** The gateway refused, or has been unavailable for too long. */
export class StreamFailed extends Error {
  constructor(
    message: string,
    /** HTTP status; undefined when there was no answer. */
    readonly status: number | undefined,
    /** Code of the refusal, e.g. `cluster.unknown`. */
    readonly reason: string | undefined,
  ) {
    super(message);
    this.name = 'StreamFailed';
  }
}

export interface StreamOptions extends FairleadClientOptions {
  /** Ends the stream. */
  readonly signal: AbortSignal;
  /** A connection was accepted. */
  readonly onConnected?: () => void;
}

/** The gateway sends a comment every 15 s, so a longer silence is a dead connection. */
const SILENCE_MAX_MS = 45_000;

const ERROR_LENGTH_MAX = 1_048_576;

const failureOf = async (response: Response): Promise<StreamFailed> => {
  const text = await response.text().catch(() => '');
  const error = parseJsonOrUndefined(text, { lengthMax: ERROR_LENGTH_MAX }) as Partial<Schemas['Error']> | undefined;
  return new StreamFailed(error?.message ?? `HTTP ${response.status}`, response.status, error?.reason);
};

const FAULTS_MAX = 100;

/** A few fields that are not known may come from a newer gateway; a page of a proxy consists of nothing else. */
const faults = (): (() => void) => {
  let count = 0;
  return () => {
    count += 1;
    if (count > FAULTS_MAX)
      throw new StreamFailed('the server answered with something else than events', 200, undefined);
  };
};

/** Server-sent events of one connection, until it ends. */
export async function* messages(
  url: URL,
  { token, signal, onConnected, fetch: ask = fetch }: StreamOptions,
  headers: Readonly<Record<string, string>> = {},
): AsyncGenerator<EventSourceMessage> {
  const silence = new AbortController();
  // A reader that stopped half-way must not keep its process alive.
  const watchdog = setTimeout(() => silence.abort(), SILENCE_MAX_MS).unref();
  try {
    const request = new Request(url, {
      headers: { Authorization: `Bearer ${token}`, Accept: 'text/event-stream', ...headers },
      signal: AbortSignal.any([signal, silence.signal]),
    });
    const response = await ask(request);
    if (!response.ok) throw await failureOf(response);
    onConnected?.();
    if (response.body === null) return;
    const heard: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: (message) => heard.push(message), onError: faults() });
    for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
      watchdog.refresh();
      parser.feed(text);
      yield* heard.splice(0);
    }
  } finally {
    clearTimeout(watchdog);
  }
}
