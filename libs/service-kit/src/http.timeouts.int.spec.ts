import { afterEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { boundRequests } from './http.timeouts.js';

let server: Server;
const sockets: Socket[] = [];

const connection = async (): Promise<Socket> => {
  server = createServer((_request, response) => void response.end('ok'));
  boundRequests(server, 200);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => undefined);
  sockets.push(socket);
  socket.resume();
  return socket;
};

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server.close();
});

describe('a port of a service', () => {
  it('closes an idle connection', async () => {
    await once(await connection(), 'close');
    expect(sockets).toHaveLength(1);
  });

  it('times out an incomplete request', async () => {
    const socket = await connection();
    socket.write('GET /healthz HTTP/1.1\r\nHost: x\r\n');
    await once(socket, 'close');
    expect(socket.bytesWritten).toBeGreaterThan(0);
  });
});
