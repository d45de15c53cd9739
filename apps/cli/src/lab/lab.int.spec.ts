import { LAB_FAULT_KINDS } from '@fairlead/contracts';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Fault } from '@fairlead/lab/testing/faults';
import { FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { fakeIo, run } from '../spec/io.fixtures.js';

const page = readFileSync(new URL('../../../../docs/lab.md', import.meta.url), 'utf8');
let gateway: FakeGateway;
let lab: FakeGateway;
let folder: string;
let faults: readonly unknown[];

beforeEach(async () => {
  [gateway, lab, folder, faults] = [new FakeGateway(), new FakeGateway(), newFolder('lab'), []];
  await gateway.start();
  await lab.start();
  writeFileSync(join(folder, 'lab.token'), 'lab-secret\n');
  gateway.on('GET', '/connections/lab', { body: { name: 'lab', provider: 'lab', settings: { endpoint: lab.url } } });
  lab.on('GET', '/v1/faults', () => ({ body: { items: faults } }));
  // Parsed with the lab's own schema.
  lab.on('PUT', '/v1/faults', ({ body }) => {
    faults = (body as { items: unknown[] }).items.map((item) => Fault.parse(item));
    return { body: { items: faults } };
  });
});
afterEach(async () => {
  await gateway.stop();
  await lab.stop();
  removeFolder(folder);
});

const fault = (...args: readonly string[]) =>
  run(
    ['lab', 'fault', ...args, '--lab-token-file', join(folder, 'lab.token')],
    fakeIo({ env: { FAIRLEAD_SERVER: gateway.url } }),
  );

describe('fairlead lab fault', () => {
  it('adds faults, replaces one of the same kind, and clears them', async () => {
    await fault('set', 'host-lost', '--machine', 'demo-w-*', '--times', '1');
    await fault('set', 'boot-slow', '--delay', '2m');
    await fault('set', 'boot-slow', '--delay', '30s');
    expect(faults).toEqual([
      { kind: 'host-lost', machine: 'demo-w-*', times: 1 },
      { kind: 'boot-slow', machine: '*', delayMs: 30_000 },
    ]);
    expect((await fault('list')).stdout).toMatch(/host-lost +demo-w-\* +1 .*EFFECT|EFFECT \(SIMULATED\)/s);
    await fault('clear', 'host-lost');
    expect(faults).toEqual([{ kind: 'boot-slow', machine: '*', delayMs: 30_000 }]);
    expect((await fault('clear')).stdout).toBe('The lab has no faults.\n');
    expect(lab.received.every(({ headers }) => headers.authorization === 'Bearer lab-secret')).toBe(true);
  });

  it('is refused without a lab, and for users who may not see it', async () => {
    gateway.on('GET', '/connections/lab', { body: { name: 'lab', provider: 'ssh', settings: {} } });
    expect(await fault('list')).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('only the lab, a simulation'),
    });
    gateway.on('GET', '/connections/lab', { body: { name: 'lab', provider: 'lab' } });
    expect(await fault('list')).toMatchObject({ code: 4, stderr: expect.stringContaining('administrators') });
    gateway.on('GET', '/connections/lab', refusal(404, 'connection.not-found', 'There is none'));
    expect((await fault('list')).code).toBe(5);
    expect(lab.received).toEqual([]);
  });

  it('prints the message of the lab, and never its token', async () => {
    lab.on('GET', '/v1/faults', { status: 401, body: { code: 'unauthorized', message: 'a bearer token is needed' } });
    const { code, stderr } = await fault('list');
    expect([code, stderr]).toEqual([4, expect.stringContaining('a bearer token is needed')]);
    expect(stderr).not.toContain('lab-secret');
  });
});

describe('docs/lab.md', () => {
  const examples = [...page.matchAll(/^ {4}fairlead lab fault set (.*)$/gm)].map(([, words = '']) => words);

  it('has a section and an example for every fault, and for no other', () => {
    const sections = [...page.matchAll(/^### (.*)$/gm)].map(([, kind]) => kind);
    expect(sections).toEqual(LAB_FAULT_KINDS);
    expect([...new Set(examples.map((words) => words.split(' ')[0]))].toSorted()).toEqual(LAB_FAULT_KINDS.toSorted());
  });

  it.each(examples)('has an example that the lab accepts: %s', async (line) => {
    const words = (line.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replaceAll('"', ''));
    expect(await fault('set', ...words)).toMatchObject({ code: 0, stderr: '' });
    expect(faults).toHaveLength(1);
  });
});
