import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Certificates } from './certificates.js';

/** Uploads may take long; the headers of a request do not. */
const LIMITS = {
  headersTimeout: 10_000,
  requestTimeout: 60 * 60_000,
  keepAliveTimeout: 10_000,
  handshakeTimeout: 10_000,
  connectionsCheckingInterval: 1_000,
  maxHeaderSize: 16_384,
} as const;

export interface Terminated {
  serve(request: IncomingMessage, response: ServerResponse): Promise<void>;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void>;
}

/** Ends TLS of connections whose first bytes were read already. */
export const termination = (certificates: Certificates, door: Terminated): ((socket: Socket, read: Buffer) => void) => {
  const server = createServer(
    {
      ...LIMITS,
      SNICallback: (name, callback) => {
        certificates.contextOf(name).then(
          (context) =>
            context === undefined ? callback(new Error(`${name} has no certificate`)) : callback(null, context),
          (error: unknown) => callback(error as Error),
        );
      },
    },
    (request, response) => void door.serve(request, response),
  );
  server.on(
    'upgrade',
    (request: IncomingMessage, socket: Duplex, head: Buffer) => void door.upgrade(request, socket, head),
  );
  server.on('clientError', (_error, socket: Duplex) => socket.destroy());
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return (socket, read) => {
    socket.unshift(read);
    server.emit('connection', socket);
  };
};
