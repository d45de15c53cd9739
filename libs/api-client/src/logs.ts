import { parseJson } from '@fairlead/parsers';
import { messages, StreamFailed, type StreamOptions } from './messages.js';

export interface LogsOptions extends StreamOptions {
  readonly of: { readonly namespace: string; readonly cluster: string; readonly node: string };
  readonly query: Readonly<Record<string, string | number | undefined>>;
}

export interface LogLines {
  /** Whole lines. */
  readonly text: string;
  /** Number of lines after them that were logged faster than they could be sent. */
  readonly skipped: number;
}

/** The gateway's reason for the end. */
export interface LogEnd {
  readonly reason: string;
  readonly message: string;
}

/** Per message of a stream. */
const MESSAGE_LENGTH_MAX = 2 * 1_048_576;

const urlOf = ({ baseUrl, of: { namespace, cluster, node }, query }: LogsOptions): URL => {
  const [ns, name, host] = [namespace, cluster, node].map(encodeURIComponent);
  const url = new URL(`${baseUrl.replace(/\/$/, '')}/ns/${ns}/clusters/${name}/nodes/${host}/logs/stream`);
  for (const [field, value] of Object.entries(query))
    if (value !== undefined) url.searchParams.set(field, String(value));
  return url;
};

/**
 * The log of a unit on a node, line by line as it is logged. Returns why the gateway ended it; undefined: the signal
 * did. Throws StreamFailed if the gateway refuses, or the connection breaks: each connection is a recorded request, so
 * it does not reconnect.
 */
export async function* nodeLogs(options: LogsOptions): AsyncGenerator<LogLines, LogEnd | undefined> {
  try {
    for await (const { event, data } of messages(urlOf(options), options)) {
      if (event === 'end') return parseJson(data, { lengthMax: MESSAGE_LENGTH_MAX }) as LogEnd;
      if (event === 'lines') yield parseJson(data, { lengthMax: MESSAGE_LENGTH_MAX }) as LogLines;
    }
  } catch (error) {
    if (options.signal.aborted) return undefined;
    if (error instanceof StreamFailed) throw error;
  }
  if (options.signal.aborted) return undefined;
  throw new StreamFailed('the connection to the server was lost', undefined, undefined);
}
