import { natsTrust } from '@fairlead/embedded/credentials';
import { connect, wsconnect, type ConnectionOptions, type NatsConnection } from '@nats-io/transport-node';
import WebSocket, { type ClientOptions } from 'ws';

export const isWebsocket = (url: string): boolean => /^wss?:\/\//.test(url);

/** Large enough for every message that NATS accepts, and several of them at once. */
const FRAME_BYTES_MAX = 8 * 1_048_576;
const HANDSHAKE_MS = 20_000;

/**
 * Connects to one server over TCP or websocket. `authority` (PEM) is read at each connect; undefined: the system's CAs
 * are used if the server requires TLS. The client library keeps one kind of transport for the whole process and would
 * use it for the reconnects of all its connections, so callers with websocket URLs reconnect by calling this.
 */
export const connectTo = (
  url: string,
  authority: (() => string) | undefined,
  options: ConnectionOptions,
): Promise<NatsConnection> => {
  const trust = natsTrust(authority, [url]);
  if (!isWebsocket(url)) return connect({ ...options, servers: [url], ...trust });
  const { tls } = trust;
  const socketOptions: ClientOptions = {
    maxPayload: FRAME_BYTES_MAX,
    handshakeTimeout: HANDSHAKE_MS,
    perMessageDeflate: false,
    // This type is older than the options of `tls.connect`, to which it is passed.
    ...(tls === undefined ? {} : ({ ca: tls.ca, checkServerIdentity: tls.checkServerIdentity } as object)),
  };
  return wsconnect({
    ...options,
    servers: [url],
    wsFactory: async () => ({
      // The library expects the browser's type and uses only the common part.
      socket: new WebSocket(url, socketOptions) as unknown as globalThis.WebSocket,
      encrypted: url.startsWith('wss:'),
    }),
  });
};
