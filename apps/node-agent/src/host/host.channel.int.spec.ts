import { agentOutputSubject, HOST_REPLY_FILTER, HostReply, type HostOrder } from '@fairlead/contracts';
import { freePorts } from '@fairlead/embedded';
import { mintNodeCredentials, type NodeSigning } from '@fairlead/embedded/credentials';
import { testEnvironment, type TestEnvironment } from '@fairlead/embedded/testing';
import { eventually, newFolder } from '@fairlead/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NatsConnection } from '@nats-io/transport-node';
import { readFileSync } from 'node:fs';
import { HostChannel } from './host.channel.js';

const ADDRESS = { namespace: 'default', cluster: 'shop', node: 'shop-w-1' };

describe('the channel of a host over websocket', () => {
  let environment: TestEnvironment;
  let services: NatsConnection;
  let channel: HostChannel;
  let running: Promise<void>;
  let isWanted = true;
  const replies: HostReply[] = [];

  const order = (one: HostOrder): void => services.publish(agentOutputSubject(ADDRESS, 'order'), JSON.stringify(one));
  const reply = async <Kind extends HostReply['kind']>(
    id: string,
    kind: Kind,
  ): Promise<Extract<HostReply, { kind: Kind }>> => {
    const found = await eventually(() => replies.find((one) => one.id === id && one.kind === kind));
    return found as Extract<HostReply, { kind: Kind }>;
  };

  beforeAll(async () => {
    const [port = 0] = await freePorts(newFolder('websocket'), 1);
    environment = await testEnvironment({ natsWebsocketPort: port });
    services = await environment.connect('bootstrap-svc');
    services.subscribe(HOST_REPLY_FILTER, {
      callback: (_error, message) => void replies.push(HostReply.parse(message.json())),
    });
    const signing = JSON.parse(readFileSync(environment.nats.nodeSigningFile ?? '', 'utf8')) as NodeSigning;
    channel = new HostChannel({
      config: { ...ADDRESS, uid: 'u', natsUrls: [`ws://127.0.0.1:${port}`] },
      credentials: mintNodeCredentials(signing, { ...ADDRESS, expiresInSeconds: 3_600 }),
      root: newFolder('host'),
      keep: async () => undefined,
      isWanted: async () => isWanted,
      random: () => 0,
      log: () => undefined,
    });
    running = channel.run();
    await eventually(() => {
      order({ kind: 'ping', id: 'hello' });
      return replies.some(({ id }) => id === 'hello');
    });
  }, 60_000);
  afterAll(async () => {
    isWanted = false;
    await channel?.stop();
    await running;
    await environment?.stop();
  }, 60_000);

  it('runs a command once, however often it is ordered, and returns its output', async () => {
    const run: HostOrder = {
      kind: 'run',
      id: 'one',
      command: 'cat; echo to-stderr >&2; exit 3',
      stdin: 'in',
      limitMs: 9_000,
    };
    order(run);
    order(run);
    expect(await reply('one', 'ended')).toMatchObject({ code: 3, stdout: 2, stderr: 10, late: false });
    order({ kind: 'read', id: 'one', stream: 'stdout', at: 0 });
    expect(Buffer.from((await reply('one', 'output')).data, 'base64').toString()).toBe('in');
    expect(replies.filter(({ id, kind }) => id === 'one' && kind === 'ended').length).toBeLessThanOrEqual(2);
  });

  it('kills a command after its timeout, with all its children', async () => {
    order({ kind: 'run', id: 'slow', command: 'sleep 600 & sleep 600', stdin: '', limitMs: 200 });
    expect(await reply('slow', 'ended')).toMatchObject({ code: null, late: true });
  });

  it('writes a file in parts, and refuses a path outside its folder', async () => {
    const data = (text: string): string => Buffer.from(text).toString('base64');
    order({ kind: 'write', id: 'w1', path: '/opt/part', at: 0, data: data('one') });
    expect(await reply('w1', 'written')).toMatchObject({ size: 3 });
    order({ kind: 'write', id: 'w2', path: '/opt/part', at: 3, data: data('two') });
    expect(await reply('w2', 'written')).toMatchObject({ size: 6 });
    order({ kind: 'exists', id: 'e1', path: '/opt/part' });
    expect(await reply('e1', 'exists')).toMatchObject({ exists: true });
    order({ kind: 'write', id: 'evil', path: '/opt/../../evil', at: 0, data: data('x') });
    order({ kind: 'ping', id: 'after' });
    await reply('after', 'alive');
    expect(replies.some(({ id }) => id === 'evil')).toBe(false);
  });
});
