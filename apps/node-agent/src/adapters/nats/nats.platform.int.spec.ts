import type { AgentConfig, ClusterUid, Heartbeat, NodeName } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { LogEnvironment } from '../../../test/log.environment.js';
import { NatsPlatform } from './nats.platform.js';

const node = { namespace: 'default', cluster: 'demo', node: 'demo-w-1', uid: '7b0f6a3e-4c1d-4e9a-9a55-0c8f7b2d6e10' };
const PING_EVERY_MS = 100;
const PINGS = /^PING\r$/gm;

/** A proxy between an agent and NATS. Frozen connections accept data and forward nothing. */
class Path {
  readonly sent: string[] = [];
  connections = 0;
  private readonly sockets = new Set<Socket>();
  private frozen = false;

  private constructor(private readonly server: Server) {}

  static async to(url: string): Promise<Path> {
    const server = createServer();
    const path = new Path(server);
    server.on('connection', (socket) => path.forward(socket, Number(new URL(url).port)));
    server.listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    return path;
  }

  get url(): string {
    return `nats://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Freezes the connections that are currently open. */
  freeze(): void {
    this.frozen = true;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private forward(client: Socket, port: number): void {
    this.connections += 1;
    this.frozen = false;
    const born = this.connections;
    const server = connect(port, '127.0.0.1');
    const passes = (): boolean => !this.frozen && born === this.connections;
    for (const socket of [client, server]) {
      this.sockets.add(socket);
      socket.on('error', () => socket.destroy());
    }
    client.on('data', (data) => {
      this.sent.push(data.toString('utf8'));
      if (passes()) server.write(data);
    });
    server.on('data', (data) => void (passes() && client.write(data)));
    client.on('close', () => server.destroy());
  }
}

describe("an agent's connection to NATS", () => {
  let environment: LogEnvironment;
  let path: Path;
  let platform: NatsPlatform;
  const beat = { uid: node.uid, node: node.node, at: new Date(0).toISOString() } as unknown as Heartbeat;
  const open = async (pingEveryMs?: number): Promise<void> => {
    path = await Path.to(environment.url);
    platform = new NatsPlatform({
      config: { ...node, natsUrls: [path.url] } as unknown as AgentConfig,
      credentials: await environment.credentials(node),
      random: () => 0,
      log: () => undefined,
      ...(pingEveryMs === undefined ? {} : { pingEveryMs }),
    });
    await new Promise<void>((resolve) => platform.onConnected(resolve));
  };
  const close = async (): Promise<void> => {
    await platform.close();
    await path.close();
  };
  const beatOnce = (): void => {
    platform.sendHeartbeat(beat);
    platform.ping();
  };

  beforeAll(async () => {
    environment = await LogEnvironment.start();
  }, 60_000);
  afterAll(() => environment.stop());

  it('sends a ping in the packet of a heartbeat, and no separate one', async () => {
    await open();
    const before = path.sent.length;
    beatOnce();
    beatOnce();
    await eventually(() => path.sent.slice(before).join('').includes('PING'));
    const sent = path.sent.slice(before);
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatch(/^PUB hb\.[^]*^PING\r$[^]*^PUB hb\./m);
    expect(sent[0]?.match(PINGS)).toHaveLength(1);
    await close();
  });

  it('buffers messages that arrive before there is a listener, including a reply to the recovery of the state', async () => {
    await open();
    const { namespace, cluster, uid } = node;
    const content = { sshd: { hardening: true, tcpForwarding: false } } as const;
    const data = { uid: uid as ClusterUid, node: node.node as NodeName, revision: '0123456789abcdef', attempt: 1 };
    const stream = { namespace, cluster, context: `desired-${node.node}` };
    const id = await environment.append(stream, { type: 'DesiredNetworkSet', data: { ...data, ...content } });
    await platform.sync(true);
    const taken: unknown[] = [];
    platform.onNetwork((message, asked) => taken.push([message.id, message.data.sshd, asked]));
    expect(taken).toEqual([[id, content.sshd, true]]);
    await close();
  });

  it('is reopened after a vanished server has not answered two pings', async () => {
    await open(PING_EVERY_MS);
    expect(platform.isSynced()).toBe(false);
    await platform.sync(false);
    expect(platform.isSynced()).toBe(true);
    let connects = 0;
    platform.onConnected(() => (connects += 1));
    const beating = setInterval(beatOnce, PING_EVERY_MS + 10);
    try {
      await new Promise((resolve) => setTimeout(resolve, 10 * PING_EVERY_MS));
      expect(path.connections).toBe(1);
      path.freeze();
      await eventually(() => path.connections === 2 && platform.isConnected());
      expect(connects).toBe(2);
      // Decisions made in the meantime were not received.
      expect(platform.isSynced()).toBe(false);
    } finally {
      clearInterval(beating);
      await close();
    }
  });
});
