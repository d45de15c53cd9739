import { eventually } from '@fairlead/testing';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { clusterView, FakeGateway } from '../spec/gateway.fixtures.js';
import { Story } from '../spec/story.fixtures.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

let gateway: FakeGateway;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  gateway.state(...new Story().requested(0).at(1, 'ClusterAccepted').events);
  gateway.on('GET', '/ns/default/clusters', { body: { items: [clusterView({ name: 'demo' })] } });
});

afterEach(() => gateway.stop());

/** A real process that gets a real signal once it has printed something. */
const interrupted = async (line: string, isThere: (stdout: string) => boolean): Promise<readonly [unknown, string]> => {
  const child = spawn(process.execPath, [MAIN, ...line.split(' ')], {
    env: { ...process.env, FAIRLEAD_SERVER: gateway.url, FAIRLEAD_TOKEN: 'x' },
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const exited = once(child, 'exit');
  await eventually(() => isThere(stdout));
  child.kill('SIGINT');
  const [code] = (await exited) as readonly unknown[];
  return [code, stderr.replace(/^Waiting for new events .*\n/, '')];
};

it.each([
  ['events demo --follow --since 0', 'ClusterAccepted'],
  ['cluster list --watch', 'demo'],
])('%s ends with 130 at Ctrl-C, without words', async (line, printed) => {
  expect(await interrupted(line, (stdout) => stdout.includes(printed))).toEqual([130, '']);
});
