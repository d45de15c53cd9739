import { connect, type NetConnectOpts } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { AddressLooks } from '../../probes/address.probes.effects.js';

const LIMIT_MS = 2_000;
const STATS_BYTES_MAX = 8 * 1024 * 1024;

const opens = (to: NetConnectOpts): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect({ ...to, timeout: LIMIT_MS });
    const end = (isOpen: boolean): void => {
      socket.destroy();
      resolve(isOpen);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.once('timeout', () => end(false));
  });

const statsOf = (path: string): Promise<string | undefined> =>
  new Promise((resolve) => {
    const socket = connect({ path, timeout: LIMIT_MS });
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = (text: string | undefined): void => {
      socket.destroy();
      resolve(text);
    };
    socket.once('connect', () => socket.write('show stat\n'));
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > STATS_BYTES_MAX) end(undefined);
      else chunks.push(chunk);
    });
    socket.once('end', () => end(Buffer.concat(chunks).toString('utf8')));
    socket.once('error', () => end(undefined));
    socket.once('timeout', () => end(undefined));
  });

/** The address probes of this host. `socket` is the statistics socket of its haproxy. */
export const hostAddressLooks = (socket: string): AddressLooks => ({
  stats: () => statsOf(socket),
  connects: (host, port) => opens({ host, port }),
  own: () => new Set(Object.values(networkInterfaces()).flatMap((some) => (some ?? []).map(({ address }) => address))),
});
