import { gunzipSync } from 'node:zlib';
import { newFolder, removeFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pc from 'picocolors';
import { sample } from '../progress/operation.fixtures.js';
import { clusterView, FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { fakeIo, run } from '../spec/io.fixtures.js';
import { Story } from '../spec/story.fixtures.js';
import { scrubbed } from './scrub.js';

const TOKEN = `fl_0123456789abcdef_${'t'.repeat(43)}`;
const PEM = '-----BEGIN PRIVATE KEY-----\nMIIEplanted1\nMIIEplanted2\n-----END PRIVATE KEY-----';
const JWT = `eyJ${'h'.repeat(20)}.eyJ${'p'.repeat(20)}.${'s'.repeat(30)}`;
/** Each is planted somewhere, and must be nowhere in the bundle. */
const PLANTED = [
  TOKEN,
  'MIIEplanted1',
  'MIIEplanted2',
  JWT,
  'hunter2-hunter2',
  'abcdef.0123456789abcdef',
  'f'.repeat(64),
  'plain-master-key-of-the-instance',
  `SU${'A'.repeat(56)}`,
  'pg-password-1234',
  'databasePasswordOf32Characters-_',
  'passwordOfAnEnvironmentFile',
  'seedOfAnEnvironmentFile-in-base64==',
];

let gateway: FakeGateway;
let folder: string;

beforeEach(async () => {
  gateway = new FakeGateway();
  folder = newFolder('support');
  await gateway.start();
  const data = join(folder, '.fairlead');
  for (const name of ['keys', 'creds', 'logs']) mkdirSync(join(data, name), { recursive: true, mode: 0o700 });
  writeFileSync(join(data, 'keys', 'master.key'), 'plain-master-key-of-the-instance\n');
  writeFileSync(join(data, 'keys', 'databases.json'), '{\n  "gateway": "databasePasswordOf32Characters-_"\n}\n');
  writeFileSync(
    join(data, 'keys', 'gateway.env'),
    "DATABASE_URL='postgres://gateway:passwordOfAnEnvironmentFile@127.0.0.1/db'\nSIGNED_BY='seedOfAnEnvironmentFile-in-base64=='\nNATS_URL='nats://127.0.0.1:4222'\n",
  );
  writeFileSync(join(data, 'token'), TOKEN, { mode: 0o600 });
  writeFileSync(
    join(data, 'logs', 'infra-svc.log'),
    'connected to nats://127.0.0.1:4222, login failed for databasePasswordOf32Characters-_\nretried with passwordOfAnEnvironmentFile and seedOfAnEnvironmentFile-in-base64==\n',
  );
  writeFileSync(join(data, 'logs', 'infra-svc.log.1'), 'the cause, before the log was rotated\n');
  writeFileSync(
    join(data, 'logs', 'gateway.log'),
    `${'x'.repeat(1_100_000)}\nstarted with plain-master-key-of-the-instance\nauthorization: Bearer ${JWT}\npostgres://fairlead:pg-password-1234@127.0.0.1/db\n`,
  );
  writeFileSync(
    join(data, 'instance.json'),
    JSON.stringify({
      format: 1,
      server: gateway.url,
      tokenFile: join(data, 'token'),
      dataDir: data,
      process: { pid: process.pid, birth: null },
      startedAt: '2026-11-21T08:00:00Z',
      version: '0.1.0',
    }),
    { mode: 0o600 },
  );
  const at = '/ns/default/clusters/demo';
  gateway
    .on('GET', '/version', {
      body: { kind: 'Version', fairlead: '0.1.0', networks: [], kubernetes: { default: 'v1.34.4', known: [] } },
    })
    .on('GET', '/whoami', { body: { kind: 'Whoami', name: 'local', tokenId: '1', actor: 'user/local#1', roles: [] } })
    .on('GET', '/metrics', { body: 'fairlead_up 1\n' })
    .on('GET', '/readyz', { body: { services: {}, alarms: {} } })
    .on('GET', '/connections', {
      body: {
        items: [
          { name: 'site', settings: { clientSecret: 'hunter2-hunter2', user: 'ops', secretRef: 'gateway.site' } },
        ],
      },
    })
    .on('GET', '/quarantine', { body: { items: [], rejected: [] } })
    .on('GET', '/ns/default/clusters', { body: { items: [clusterView()] } })
    .on('GET', at, {
      body: clusterView({ status: { phase: 'Failed', state: 'Failed', reasons: [], reason: '', message: PEM } }),
    })
    .on('GET', `${at}/nodes`, {
      body: { items: [{ name: 'demo-w-1', message: 'kubeadm join --token abcdef.0123456789abcdef' }] },
    })
    .on('GET', `${at}/operations`, {
      body: { items: [{ kind: 'create', message: `--certificate-key ${'f'.repeat(64)}` }] },
    })
    .on('GET', `${at}/upgrades`, refusal(503, 'system.unavailable', `PostgreSQL is away: SU${'A'.repeat(56)}`))
    .on('GET', `${at}/etcd/snapshots`, { body: { items: [] } });
  gateway.state(...new Story().at(1, 'HookFailed', { token: 'hunter2-hunter2', message: `sent ${TOKEN}` }).events);
});
afterEach(async () => {
  await gateway.stop();
  removeFolder(folder);
});

const bundle = (...args: readonly string[]) => run(['support-bundle', ...args], fakeIo({ cwd: folder }));

describe('fairlead support-bundle', () => {
  it('holds no secret, wherever one was planted', async () => {
    const { code, stdout, stderr } = await bundle('demo', '-f', 'bundle.tar.gz');
    expect([code, stderr]).toEqual([0, '']);
    const text = gunzipSync(readFileSync(join(folder, 'bundle.tar.gz'))).toString('utf8');
    expect(PLANTED.filter((secret) => text.includes(secret) || stdout.includes(secret))).toEqual([]);
    // What is needed is there still.
    for (const word of [
      'fairlead_up 1',
      'gateway.site',
      'HookFailed',
      'demo-w-1',
      '"user": "ops"',
      'connected to nats://127.0.0.1:4222, login failed for [removed]',
      'the cause, before the log was rotated',
      '"freeBytes"',
      'postgres://fairlead:[removed]@',
    ])
      expect(text).toContain(word);
    expect(statSync(join(folder, 'bundle.tar.gz')).mode & 0o777).toBe(0o600);
  });

  it('says what it could not read, and goes on', async () => {
    const { stdout } = await bundle('demo', '-f', 'bundle.tar.gz');
    expect(stdout).toMatch(/cluster\/upgrades\.json .*not whole: .*PostgreSQL is away: \[removed\]/);
    expect(stdout).toMatch(/logs\/gateway\.log .*the end of a log/);
  });

  it('keeps the end of a long log only', async () => {
    await bundle('-f', 'bundle.tar.gz');
    const text = gunzipSync(readFileSync(join(folder, 'bundle.tar.gz'))).toString('utf8');
    expect([text.includes('started with [removed]'), text.includes('xxxxx'), text.includes('cluster/')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('lists what it would hold, and writes and asks nothing', async () => {
    const { code, stdout } = await bundle('demo', '--dry-run');
    expect([code, stdout]).toEqual([0, expect.stringContaining('cluster/events.json')]);
    expect([readdirSync(folder), gateway.received]).toEqual([['.fairlead'], []]);
  });

  it('replaces no file, and creates none for a cluster that does not exist', async () => {
    writeFileSync(join(folder, 'bundle.tar.gz'), 'mine');
    expect((await bundle('demo', '-f', 'bundle.tar.gz')).code).toBe(6);
    expect(readFileSync(join(folder, 'bundle.tar.gz'), 'utf8')).toBe('mine');
    gateway.on('GET', '/ns/default/clusters/none/operations', refusal(404, 'cluster.unknown', 'There is none'));
    expect((await bundle('none', '-f', 'other.tar.gz')).code).toBe(5);
    expect(readdirSync(folder)).not.toContain('other.tar.gz');
  });
});

describe('fairlead support-bundle, for what is hard to find', () => {
  const at = '/ns/default/clusters/demo';
  const textOf = async (io = fakeIo({ cwd: folder })): Promise<string> => {
    const { code } = await run(['support-bundle', 'demo', '-f', 'bundle.tar.gz'], io);
    expect(code).toBe(0);
    return gunzipSync(readFileSync(join(folder, 'bundle.tar.gz'))).toString('utf8');
  };

  it('holds the plans of the latest upgrades that change something, and of the latest dry run', async () => {
    const upgrade = (id: string, mode: string) => ({ id, mode, phase: 'Completed', target: {}, actor: 'user/ada' });
    const ids = ['dry-2', 'dry-1', 'u-5', 'u-4', 'u-3', 'u-2', 'u-1'];
    gateway.on('GET', `${at}/upgrades`, {
      body: { items: ids.map((id) => upgrade(id, id.startsWith('dry') ? 'dry-run' : 'ask')) },
    });
    for (const id of ids) gateway.on('GET', `${at}/upgrades/${id}`, { body: { plan: `plan of ${id}` } });
    const text = await textOf();
    expect(ids.filter((id) => text.includes(`plan of ${id}`))).toEqual(['dry-2', 'u-5', 'u-4', 'u-3']);
  });

  it('holds no colours, whatever the terminal can show', async () => {
    gateway.on('GET', `${at}/operations`, { body: { items: sample('ready').operations } });
    gateway.on('GET', `${at}/upgrades`, { body: { items: [] } });
    const text = await textOf({ ...fakeIo({ cwd: folder }), colors: pc.createColors(true) });
    expect(text).toContain('default/demo');
    expect(text).not.toContain('\u001B[');
  });

  it('can be made of a cluster that is deleted', async () => {
    gateway.on('GET', at, refusal(404, 'cluster.unknown', 'There is no cluster demo'));
    const text = await textOf();
    expect(text).toMatch(/cluster\/cluster\.json .*not whole: There is no cluster demo/);
    expect(text).toContain('HookFailed');
  });

  it('holds the logs alone when the server does not answer, and says so', async () => {
    await gateway.stop();
    const { code, stdout, stderr } = await bundle('demo', '-f', 'bundle.tar.gz');
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^No server answers at .*\. The bundle holds the logs of this instance alone\.\n$/),
    ]);
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => line.split(' ')[0]),
    ).toEqual(['machine.json', 'logs/gateway.log', 'logs/infra-svc.log', '', 'Wrote']);
    await gateway.start();
  });
});

describe('a text of a support bundle', () => {
  it.each([
    ['password: correct-horse', 'password: [removed]'],
    ['{"token":"abcdefgh"}', '{"token":"[removed]"}'],
    ['{"msg":"{\\"apiKey\\":\\"abcdefgh\\"}"}', '{"msg":"{\\"apiKey\\":\\"[removed]\\"}"}'],
    ['AKIAABCDEFGHIJKLMNOP', '[removed]'],
    [`join --token-file /t flj_0123456789ab_${'j'.repeat(43)}`, 'join --token-file /t [removed]'],
    [`cookie fs_0123456789abcdef_${'s'.repeat(43)}`, 'cookie [removed]'],
    [
      `http://127.0.0.1:7080/#/sign-in/fc_0123456789abcdef_${'c'.repeat(43)} to watch it`,
      'http://127.0.0.1:7080/#/sign-in/[removed] to watch it',
    ],
    ['10.244.0.0/16 on demo-w-1-p4t6z at v1.34.4', '10.244.0.0/16 on demo-w-1-p4t6z at v1.34.4'],
    ['https://fairlead.example.com:7080/ns/default', 'https://fairlead.example.com:7080/ns/default'],
  ])('%s becomes %s', (text, expected) => expect(scrubbed(text, [])).toBe(expected));

  it.each(['x', 'eyJaaaaaaaa-', 'a://b:', 'a://', 'password', 'token=', '-----BEGIN PRIVATE KEY-----'])(
    'of 256 KiB of "%s" takes time in proportion to its length',
    (shape) => {
      const text = shape.repeat(262_144 / shape.length);
      const before = process.cpuUsage();
      scrubbed(text, []);
      expect(process.cpuUsage(before).user / 1_000).toBeLessThan(2_000);
    },
  );
});
