import { HELD_NAMES_BUCKET, PUBLISHED_NAMES_BUCKET, type ClusterUid, type HeldName } from '@fairlead/contracts';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { ensureStreams } from '@fairlead/event-sourcing/jetstream';
import { eventually, newFolder, removeFolder } from '@fairlead/testing';
import { describeWith } from '@fairlead/testing/programs';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { Kvm, type KV } from '@nats-io/kv';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import {
  connect as connectTcp,
  createServer as createTcpServer,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net';
import { join } from 'node:path';
import { connect, createServer, type TLSSocket } from 'node:tls';
import { readSettings } from './config.js';
import { startTunnel, type RunningTunnel } from './service.js';

const NAME = 'api.demo.example.org';
const OTHER = 'api.other.example.org';
const uid = '6f9619ff-8b86-4d01-b42d-00cf4fc964ff' as ClusterUid;
const LIMITS = {
  beatMs: 200,
  ssh: { handshakeMs: 3_000, keepaliveMs: 200, keepalivesMax: 2, openWithinMs: 1_000 },
  tls: { helloWithinMs: 1_000 },
};

interface Key {
  readonly file: string;
  readonly publicKey: string;
}

/** A real nats-server, the tunnel's own code, OpenSSH as the client, and a TLS server behind it that answers with its name. */
describeWith(
  'ssh',
  'ssh-keygen',
  'openssl',
)('a tunnel', () => {
  let environment: TestEnvironment;
  let folder: string;
  let reserved: KV;
  let held: KV;
  let api: Server;
  let ca: string;
  let own: Key;
  let stranger: Key;
  const tunnels: RunningTunnel[] = [];
  const children: ChildProcess[] = [];
  const servers: Server[] = [];

  const newKey = (name: string): Key => {
    const file = join(folder, name);
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', file]);
    return { file, publicKey: readFileSync(`${file}.pub`, 'utf8').split(' ').slice(0, 2).join(' ') };
  };

  const portOf = (server: Server): number => (server.address() as AddressInfo).port;
  const listening = async (server: Server): Promise<number> => {
    servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return portOf(server);
  };

  beforeAll(async () => {
    environment = await testEnvironment();
    const admin = await environment.connect('admin');
    await ensureStreams(admin);
    reserved = await new Kvm(admin).open(PUBLISHED_NAMES_BUCKET);
    held = await new Kvm(admin).open(HELD_NAMES_BUCKET);
    folder = newFolder('tunnel');
    const [key, cert] = [join(folder, 'api.key'), join(folder, 'api.pem')];
    const names = `subjectAltName=DNS:${NAME},DNS:${OTHER}`;
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
    const subject = ['-subj', '/CN=api', '-addext', names];
    execFileSync('openssl', ['req', '-x509', ...curve, '-nodes', ...['-keyout', key, '-out', cert], ...subject], {
      stdio: 'ignore',
    });
    ca = readFileSync(cert, 'utf8');
    api = createServer({ key: readFileSync(key), cert: ca }, (socket: TLSSocket) => {
      socket.on('error', () => undefined).end(`hello ${String(socket.servername)}`);
    });
    await listening(api);
    [own, stranger] = [newKey('own'), newKey('stranger')];
    await reserved.put(NAME, JSON.stringify({ uid, publicKey: own.publicKey }));
    await reserved.put(OTHER, JSON.stringify({ uid, publicKey: stranger.publicKey }));
  });

  afterEach(async () => {
    for (const child of children.splice(0)) {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    for (const tunnel of tunnels.splice(0)) await tunnel.stop();
    await held.purge(NAME);
  });

  afterAll(async () => {
    for (const server of servers) server.close();
    await environment.stop();
    removeFolder(folder);
  });

  const start = async (peerHost?: string): Promise<RunningTunnel> => {
    const { nats } = environment;
    const settings = readSettings({
      NATS_URL: nats.url,
      NATS_CREDS: nats.credsFile('tunnel'),
      TUNNEL_HOST_KEY_FILE: stranger.file,
      ...(peerHost === undefined ? {} : { TUNNEL_PEER_HOST: peerHost }),
    });
    const tunnel = await startTunnel(settings, () => undefined, LIMITS);
    tunnels.push(tunnel);
    return tunnel;
  };

  interface Client {
    readonly key?: Key;
    readonly user?: string;
    readonly forward?: string;
    readonly args?: readonly string[];
  }

  /** OpenSSH as the agent's unit runs it. Resolves with how it ended. */
  const ssh = (port: number, { key = own, user = NAME, forward = NAME, args }: Client = {}) => {
    const options = [
      'StrictHostKeyChecking=no',
      'UserKnownHostsFile=/dev/null',
      'ExitOnForwardFailure=yes',
      'IdentitiesOnly=yes',
      'BatchMode=yes',
    ];
    const child = spawn(
      'ssh',
      [
        ...['-F', 'none', '-i', key.file, '-p', String(port)],
        ...options.flatMap((option) => ['-o', option]),
        ...(args ?? ['-N', '-R', `${forward}:443:127.0.0.1:${portOf(api)}`]),
        `${user}@127.0.0.1`,
      ],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    children.push(child);
    let words = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (words += String(chunk)));
    const ended = once(child, 'exit').then(([code]) => ({ code: code as number | null, words }));
    return { child, ended };
  };

  /** What a client gets that trusts the authority of the cluster only. */
  const ask = (port: number, servername = NAME): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, servername, ca });
      let text = '';
      socket.on('data', (chunk: Buffer) => (text += String(chunk)));
      socket.once('end', () => resolve(text)).once('error', reject);
    });
  const answers = (port: number): Promise<boolean> =>
    ask(port).then(
      (text) => text === `hello ${NAME}`,
      () => false,
    );
  const record = async (): Promise<HeldName | undefined> => {
    const entry = await held.get(NAME);
    return entry?.operation === 'PUT' ? entry.json<HeldName>() : undefined;
  };

  it('brings TLS connections to the cluster that holds the name, end to end, and says that it holds it', async () => {
    const { sshPort, tlsPort } = await start();
    await expect(ask(tlsPort)).rejects.toThrow(/unrecognized.name/i);
    ssh(sshPort);
    await eventually(() => answers(tlsPort));
    expect(await record()).toMatchObject({ sessions: 1 });
    expect(await Promise.all(Array.from({ length: 20 }, () => ask(tlsPort)))).toEqual(Array(20).fill(`hello ${NAME}`));
    await expect(ask(tlsPort, OTHER)).rejects.toThrow(/unrecognized.name/i);
  });

  it('gives a name to no other key, whatever the client calls itself [azimuth 17]', async () => {
    const { sshPort, tlsPort } = await start();
    expect(await ssh(sshPort, { key: stranger }).ended).toMatchObject({
      code: 255,
      words: expect.stringMatching(/Permission denied/),
    });
    const stolen = await ssh(sshPort, { key: stranger, user: OTHER, forward: NAME }).ended;
    expect(stolen).toMatchObject({ code: 255, words: expect.stringMatching(/remote port forwarding failed/) });
    expect(await ssh(sshPort, { user: 'root' }).ended).toMatchObject({ code: 255 });
    expect(await answers(tlsPort)).toBe(false);
    expect(await record()).toBeUndefined();
  });

  it('has no shell, and forwards nothing but names', async () => {
    const { sshPort } = await start();
    const shell = await ssh(sshPort, { args: ['-T'] }).ended;
    expect(shell.code).not.toBe(0);
    const port = await ssh(sshPort, { args: ['-N', '-R', '0:127.0.0.1:1'] }).ended;
    expect(port).toMatchObject({ code: 255, words: expect.stringMatching(/remote port forwarding failed/) });
    // Out of the tunnel's machine: `-W` opens a direct connection.
    const out = await ssh(sshPort, { args: ['-W', `127.0.0.1:${portOf(api)}`] }).ended;
    expect(out).toMatchObject({ code: 255, words: expect.stringMatching(/forward|open failed|prohibited/i) });
  });

  it('loses a name when the wire is cut without a close, and has it back at once when the client returns [azimuth 17]', async () => {
    const { sshPort, tlsPort } = await start();
    const wires: Socket[] = [];
    const relay = createTcpServer((near) => {
      const far = connectTcp({ host: '127.0.0.1', port: sshPort });
      wires.push(near, far);
      for (const wire of [near, far]) wire.on('error', () => undefined);
      near.pipe(far).pipe(near);
    });
    ssh(await listening(relay));
    await eventually(() => answers(tlsPort));
    const lastBeat = async (): Promise<number> => (await held.get(NAME))?.revision ?? 0;
    // Nothing passes from now on, and neither end is closed.
    for (const wire of wires.splice(0)) wire.unpipe().pause();
    await eventually(async () => (await metrics()).includes('fairlead_tunnel_names 0'));
    const before = await lastBeat();
    await expect(ask(tlsPort)).rejects.toThrow();
    expect(await lastBeat()).toBe(before);
    ssh(sshPort);
    await eventually(() => answers(tlsPort));
    expect(await lastBeat()).toBeGreaterThan(before);
  });

  const metrics = async (): Promise<string> => (await fetch(`http://127.0.0.1:${tunnels[0]?.port}/metrics`)).text();

  it('ends the session of a key whose name is no longer reserved', async () => {
    const { sshPort, tlsPort } = await start();
    const { ended } = ssh(sshPort);
    await eventually(() => answers(tlsPort));
    await reserved.delete(NAME);
    expect((await ended).code).toBe(255);
    await reserved.put(NAME, JSON.stringify({ uid, publicKey: own.publicKey }));
  });

  it('finds what another replica holds', async () => {
    const [one, two] = [await start('127.0.0.1'), await start('127.0.0.1')];
    ssh(one.sshPort);
    await eventually(() => answers(one.tlsPort));
    expect(await ask(two.tlsPort)).toBe(`hello ${NAME}`);
  });

  it.each(['ssh', 'tls'] as const)('ends connections that say nothing, or little, on its %s port', async (door) => {
    const { sshPort, tlsPort } = await start();
    const port = door === 'ssh' ? sshPort : tlsPort;
    const ended = ['', door === 'ssh' ? 'SSH-2.0-' : '\u0016\u0003\u0001'].map(async (bytes) => {
      const socket = connectTcp({ host: '127.0.0.1', port });
      socket.write(bytes);
      socket.on('error', () => undefined).resume();
      await once(socket, 'close');
    });
    await Promise.all(ended);
    expect(await metrics()).toContain(`fairlead_tunnel_refused_total{door="${door}",reason="slow"} 2`);
  });
});
