import { CertificateAuthority } from '@fairlead/lab/testing/certificates';
import { eventually } from '@fairlead/testing';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { AutoscalerListener, type ListenerIdentity } from './autoscaler.listener.js';

const LIMITS = { handshakeMs: 200, connectionsMax: 6, connectionsEachMax: 2 };
const HOST = '127.0.0.1';

describe('the port for autoscalers', () => {
  let authority: CertificateAuthority;
  let identity: ListenerIdentity;
  let listener: AutoscalerListener;
  const sockets: Socket[] = [];
  let taken: TLSSocket[];

  beforeAll(async () => {
    authority = await CertificateAuthority.create(Date.now());
    const { certPem, keyPem } = await authority.issue(
      { commonName: 'gateway', usage: 'server', sans: [HOST] },
      Date.now(),
    );
    identity = { ca: authority.pair.certPem, cert: certPem, key: keyPem };
  });
  afterEach(() => {
    listener.close();
    for (const socket of [...sockets.splice(0), ...taken]) socket.destroy();
  });

  const start = (): Promise<number> => {
    taken = [];
    listener = new AutoscalerListener(identity, { injectConnection: (socket) => void taken.push(socket) }, LIMITS);
    return listener.listen(HOST, 0);
  };

  const plain = (port: number): Socket => {
    const socket = connectPlain(port, HOST).on('error', () => undefined);
    sockets.push(socket);
    return socket;
  };

  const client = async (port: number, name: string): Promise<() => TLSSocket> => {
    const { certPem, keyPem } = await authority.issue({ commonName: name, usage: 'client' }, Date.now());
    return () => {
      const options = { host: HOST, port, ca: identity.ca, cert: certPem, key: keyPem, ALPNProtocols: ['h2'] };
      const socket = connect(options).on('error', () => undefined);
      sockets.push(socket);
      return socket;
    };
  };

  it('ends a connection that does not begin TLS, and one that begins and goes no further', async () => {
    const port = await start();
    const [silent, slow] = [plain(port), plain(port)];
    slow.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00]));
    await Promise.all([once(silent, 'close'), once(slow, 'close')]);
    expect(taken).toEqual([]);
  });

  it('takes no more connections than its limit, and others again once those have ended', async () => {
    const port = await start();
    const held = Array.from({ length: 20 }, () => plain(port));
    await eventually(() => held.filter(({ destroyed }) => destroyed).length >= 14);
    await Promise.all(held.filter(({ destroyed }) => !destroyed).map((socket) => once(socket, 'close')));
    const open = await client(port, 'demo');
    open();
    await eventually(() => taken.length === 1);
  });

  it('takes few connections of one certificate, so that it cannot keep others out', async () => {
    const port = await start();
    const [greedy, other] = await Promise.all([client(port, 'greedy'), client(port, 'other')]);
    const [first] = [greedy(), greedy()];
    await eventually(() => taken.length === 2);
    await once(greedy(), 'close');
    other();
    await eventually(() => taken.length === 3);
    first?.destroy();
    await eventually(() => taken.filter(({ destroyed }) => destroyed).length === 1);
    greedy();
    await eventually(() => taken.length === 4);
  });

  it('takes no client that the authority has not signed', async () => {
    const port = await start();
    const stranger = await CertificateAuthority.create(Date.now());
    const { certPem, keyPem } = await stranger.issue({ commonName: 'demo', usage: 'client' }, Date.now());
    const socket = connect({ host: HOST, port, ca: identity.ca, cert: certPem, key: keyPem }).on(
      'error',
      () => undefined,
    );
    sockets.push(socket);
    await once(socket, 'close');
    expect(taken).toEqual([]);
  });
});
