import { connect } from 'node:net';
import { once } from 'node:events';
import type { Peers } from '../../routes/names.ports.js';

const CONNECT_WITHIN_MS = 5_000;

/** Another replica routes by the same first bytes, but only to sessions of its own, so that nothing goes in a circle. */
export const tcpPeers: Peers = {
  connect: async (peer) => {
    const at = peer.lastIndexOf(':');
    const socket = connect({ host: peer.slice(0, at), port: Number(peer.slice(at + 1)), allowHalfOpen: true });
    try {
      await once(socket, 'connect', { signal: AbortSignal.timeout(CONNECT_WITHIN_MS) });
      return socket;
    } catch (error) {
      socket.destroy();
      throw error;
    }
  },
};
