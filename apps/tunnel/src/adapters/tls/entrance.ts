import { wordsOf } from '@fairlead/contracts';
import { createServer, type Server, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Origin } from '../../routes/names.ports.js';
import { serverNameIn } from '../../routes/server.name.rules.js';

export interface EntranceLimits {
  readonly connectionsMax: number;
  /** Until the first bytes have given a name. */
  readonly helloWithinMs: number;
  /** One direction has ended. */
  readonly halfOpenMs: number;
}

export const ENTRANCE_LIMITS: EntranceLimits = { connectionsMax: 8_192, helloWithinMs: 10_000, halfOpenMs: 60_000 };
const KEEPALIVE_AFTER_MS = 30_000;

export interface EntranceParts {
  /** undefined: the name is not held. */
  readonly open: (name: string, origin: Origin) => Promise<Duplex | undefined>;
  /** Ends TLS here for a published service that is held here; false: TLS ends at the cluster, or elsewhere. */
  readonly terminate: (name: string, socket: Socket, read: Buffer) => boolean;
  readonly onRefused: (reason: string) => void;
  readonly say: (level: 'warn', message: string) => void;
  readonly limits: EntranceLimits;
}

/** A fatal alert, unrecognized_name (RFC 6066): clients then name the reason. */
const UNRECOGNIZED_NAME = Buffer.from([21, 3, 3, 0, 2, 2, 112]);

const refuse = (socket: Socket): void => {
  socket.end(UNRECOGNIZED_NAME);
  socket.resume();
};

/** Resolves with the name and all that was read; undefined: there is none. */
const helloOf = (socket: Socket, { limits, onRefused }: EntranceParts): Promise<[string, Buffer] | undefined> =>
  new Promise((resolve) => {
    let bytes = Buffer.alloc(0);
    const end = (outcome: [string, Buffer] | string): void => {
      clearTimeout(timer);
      socket.off('data', onData).off('close', onClose).pause();
      if (typeof outcome === 'string') onRefused(outcome);
      resolve(typeof outcome === 'string' ? undefined : outcome);
    };
    const onClose = (): void => end('closed');
    const onData = (chunk: Buffer): void => {
      bytes = Buffer.concat([bytes, chunk]);
      const hello = serverNameIn(bytes);
      if (hello.kind !== 'more') end(hello.kind === 'name' ? [hello.name, bytes] : hello.reason);
    };
    const timer = setTimeout(() => end('slow'), limits.helloWithinMs);
    socket.on('data', onData).once('close', onClose);
  });

/** Bytes go both ways as they are; when one side is gone, so is the other. */
const join = (socket: Socket, other: Duplex, halfOpenMs: number): void => {
  const destroy = (): void => {
    clearTimeout(timer);
    socket.destroy();
    other.destroy();
  };
  let timer: NodeJS.Timeout | undefined;
  const onEnd = (): void => {
    timer ??= setTimeout(destroy, halfOpenMs).unref();
  };
  for (const side of [socket, other]) side.once('error', destroy).once('close', destroy).once('end', onEnd);
  socket.pipe(other).pipe(socket);
};

const serve = async (socket: Socket, parts: EntranceParts): Promise<void> => {
  const hello = await helloOf(socket, parts);
  if (hello === undefined) return refuse(socket);
  const [name, bytes] = hello;
  if (parts.terminate(name, socket, bytes)) return undefined;
  const origin = { address: socket.remoteAddress ?? '', port: socket.remotePort ?? 0 };
  const other = await parts.open(name, origin);
  if (other === undefined) {
    parts.onRefused('unavailable');
    return refuse(socket);
  }
  if (socket.destroyed) return void other.destroy();
  other.write(bytes);
  join(socket, other, parts.limits.halfOpenMs);
  return undefined;
};

/** TLS connections, routed by the server name that they ask for. Those to APIs of clusters are not decrypted. */
export const entrance = (parts: EntranceParts): Server => {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    socket.setKeepAlive(true, KEEPALIVE_AFTER_MS);
    socket.on('error', () => socket.destroy());
    serve(socket, parts).catch((error: unknown) => {
      parts.say('warn', `a connection: ${wordsOf(error)}`);
      parts.onRefused('failed');
      refuse(socket);
    });
  });
  server.maxConnections = parts.limits.connectionsMax;
  return server;
};
