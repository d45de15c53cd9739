import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { sample } from '../progress/operation.fixtures.js';
import { FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type FakeIo, type Ran } from '../spec/io.fixtures.js';
import { Story } from '../spec/story.fixtures.js';

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
});

afterEach(() => gateway.stop());

const ask = (args: readonly string[], io: FakeIo = fakeIo()): Promise<Ran> =>
  run(['--server', gateway.url, ...args], io);

const DEMO = '/ns/default/clusters/demo';
it('control characters in texts from hosts never reach the terminal', async () => {
  const evil = 'down\u001B]52;c;cm0=\u0007\u001B[2J\u202Edmc';
  const hosts = [
    { name: evil, address: '', zone: '', spec: '', state: 'free', cluster: '', machine: '', problem: evil },
  ];
  gateway.on('GET', '/connections/site', { body: { name: evil, hosts } });
  gateway.on('GET', '/ns/default/clusters/demo', refusal(404, 'x.y', evil, { help: evil, field: evil }));
  gateway.state(...new Story().requested(0).events.map((event) => ({ ...event, sentence: evil })));
  const [failed] = sample('failed').operations;
  const steps = failed!.steps.map((step) => ({ ...step, title: evil, note: evil }));
  gateway.on('GET', `${DEMO}/operations`, { body: { items: [{ ...failed, reason: evil, message: evil, steps }] } });
  gateway.on('GET', `${DEMO}/upgrades`, { body: { items: [] } });
  for (const args of [
    ['connection', 'hosts', 'site'],
    ['connection', 'hosts', 'site', '-o', 'json'],
    ['connection', 'describe', 'site'],
    ['connection', 'hosts', 'site', '-o', 'yaml'],
    ['connection', 'hosts', 'site', '-o', 'name'],
    ['cluster', 'get', 'demo'],
    ['cluster', 'describe', 'demo'],
    ['events', 'demo'],
  ]) {
    const { stdout, stderr } = await ask(args);
    expect(`${stdout}${stderr}`).toMatch(/\\u202e|\\x1b|\\u001b/i);
    expect([args, `${stdout}${stderr}`]).not.toEqual([
      args,
      expect.stringMatching(/[^\n\t\u0020-\u007E\u00A0-\u200D\u2010-\u2027\u2190-\u2FFF]/),
    ]);
  }
});
