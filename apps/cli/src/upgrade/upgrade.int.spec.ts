import { eventually } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '../api/api.js';
import type { UpgradeView } from '../api/views.js';
import { FakeGateway, refusal } from '../spec/gateway.fixtures.js';
import { fakeIo, run, type FakeIo, type Ran } from '../spec/io.fixtures.js';
import { plannedUpgrade } from './upgrade.follow.effects.js';
import { HASH, STORY, tick, upgradeView } from './upgrade.fixtures.js';

const ROOT = '/ns/default/clusters/demo';
const ID = upgradeView().id;
const ONE = `${ROOT}/upgrades/${ID}`;

let gateway: FakeGateway;
let shown: UpgradeView;

beforeEach(async () => {
  gateway = new FakeGateway();
  await gateway.start();
  shown = STORY.planned;
  gateway.on('POST', `${ROOT}/upgrades`, { body: upgradeView() });
  gateway.on('GET', ONE, () => ({ body: shown }));
  gateway.on('GET', `${ROOT}/upgrades`, () => ({
    body: { items: [{ ...shown, mode: 'dry-run', id: 'u-dry' }, shown] },
  }));
  for (const action of ['approve', 'pause', 'resume', 'abort', 'retry', 'skip', 'rollback', 'override'])
    gateway.on('POST', `${ONE}/${action}`, () => ({ status: 202, body: shown }));
});

afterEach(async () => {
  await gateway.stop();
});

const ask = (args: readonly string[], io: FakeIo = fakeIo()): Promise<Ran> =>
  run(['--server', gateway.url, ...args], io);

/** The server has something new, and says so. */
const turn = (view: UpgradeView): void => {
  shown = view;
  gateway.state(tick(view.lastSeq));
};

describe('upgrade plan', () => {
  it('asks for a dry run and prints the plan', async () => {
    const { code, stdout, stderr } = await ask([
      'upgrade',
      'plan',
      'demo',
      '--to',
      '1.35.4',
      '--max-unavailable',
      '25%',
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('Kubernetes v1.34.4 -> v1.35.4');
    const [request] = gateway.asked('POST', `${ROOT}/upgrades`);
    expect([request?.query, request?.body]).toEqual([
      { dryRun: 'true' },
      { version: 'v1.35.4', strategy: { workers: { maxUnavailable: '25%' } } },
    ]);
    expect(request?.headers['prefer']).toBe('wait=50');
  });

  it('that breaks a rule ends with 7, the findings, and what to do', async () => {
    const finding = {
      rule: 'A1',
      severity: 'refuse',
      sentence: 'It skips v1.35',
      facts: {},
      help: 'Go to v1.35.4 first.',
    };
    const body = { ...upgradeView(), phase: 'Rejected', message: 'It skips v1.35', plan: null, findings: [finding] };
    gateway.on('POST', `${ROOT}/upgrades`, { body });
    const { code, stdout, stderr } = await ask(['upgrade', 'plan', 'demo', '--to', 'v1.36.3']);
    expect({ code, stdout }).toEqual({ code: 7, stdout: '' });
    expect(stderr).toContain('✘ A1  It skips v1.35');
    expect(stderr).toContain('[upgrade.rejected]');
    expect(stderr).toContain('A1: Go to v1.35.4 first.');
  });

  it('that breaks rules on many nodes says what to do about each rule once', async () => {
    const finding = (rule: string, sentence: string) => ({
      ...{ rule, severity: 'refuse', sentence, facts: {} },
      help: rule === 'A1' ? 'Go to v1.35.4 first.' : 'Upgrade the API servers first.',
    });
    const findings = [finding('A1', 'It skips v1.35'), finding('A2', 'w-1 is newer'), finding('A2', 'w-2 is newer')];
    const message = findings.map(({ sentence }) => sentence).join('; ');
    const body = { ...upgradeView(), phase: 'Rejected', message, plan: null, findings };
    gateway.on('POST', `${ROOT}/upgrades`, { body });
    const { stderr } = await ask(['upgrade', 'plan', 'demo', '--to', 'v1.36.3']);
    expect(stderr).toContain('✘ A2  w-2 is newer');
    expect(stderr.match(/w-1 is newer/g)).toHaveLength(1);
    expect(stderr).toContain(' would break the rules A1, A2 [upgrade.rejected]');
    expect(stderr.match(/Upgrade the API servers first\./g)).toHaveLength(2);
    gateway.on('GET', `${ROOT}/upgrades`, { body: { items: [body] } });
    expect((await ask(['upgrade', 'list', 'demo'])).stdout).toContain('It skips v1.35; and 2 more');
  });

  it('that takes its time is waited for', async () => {
    gateway.on('POST', `${ROOT}/upgrades`, { status: 202, body: { ...upgradeView(), phase: 'Planning', plan: null } });
    shown = { ...upgradeView(), phase: 'Planning', plan: null };
    const ran = ask(['upgrade', 'plan', 'demo', '--to', 'v1.35.4']);
    await eventually(() => gateway.listeners === 1);
    turn({ ...STORY.planned, lastSeq: 205 });
    const { code, stdout, stderr } = await ran;
    expect([code, stdout.startsWith('Plan u-8f3k2m9q01')]).toEqual([0, true]);
    expect(stderr).toContain('Checking the rules against demo ...');
  });

  it('is not silent while the server checks the rules before it answers', async () => {
    const io = fakeIo();
    const api = { post: () => sleep(1_200, { data: upgradeView() }) } as unknown as Api;
    await plannedUpgrade({ api, io }, { namespace: 'default', cluster: 'demo' }, {}, { dryRun: 'true' });
    expect(io.stderr()).toBe('Checking the rules against demo ...\n');
  });
});

describe('upgrade start', () => {
  it('shows the plan, asks, approves its hash, and follows the rollout to its end', async () => {
    const ran = ask(['upgrade', 'start', 'demo', '--to', 'v1.35.4'], fakeIo({ answer: 'y' }));
    await eventually(() => gateway.listeners === 1);
    turn(STORY.changing);
    await eventually(() => gateway.asked('GET', ONE).length >= 2);
    turn(STORY.completed);
    const { code, stdout, stderr } = await ran;
    expect([code, stdout]).toEqual([
      0,
      'The upgrade u-8f3k2m9q01 of demo is Completed after 11m40s, 8 of 8 nodes are done.\n',
    ]);
    expect(gateway.asked('POST', `${ONE}/approve`)[0]?.body).toEqual({ planHash: HASH });
    expect(stderr).toContain('Run this plan? [y/N]');
    expect(stderr).toContain('demo-cp-1-x7k2p: Changing (kubeadm), waits for kubeadm upgrade apply v1.35.4');
  });

  const waiting = {
    ...{ ...upgradeView(), phase: 'Waiting', plan: null, planHash: null, lastSeq: 203 },
    message: 'demo-w-1 is not Ready',
  } as UpgradeView;

  it('with --wait-for-checks shows what it waits for, and goes on when every check holds', async () => {
    gateway.on('POST', `${ROOT}/upgrades`, { body: waiting });
    shown = waiting;
    const args = ['upgrade', 'start', 'demo', '--to', 'v1.35.4', '--wait-for-checks'];
    const ran = ask(args, fakeIo({ answer: 'y' }));
    await eventually(() => gateway.listeners === 1);
    expect(gateway.asked('POST', `${ONE}/approve`)).toEqual([]);
    turn({ ...STORY.planned, lastSeq: 205 });
    await eventually(() => gateway.asked('POST', `${ONE}/approve`).length === 1);
    await eventually(() => gateway.listeners === 1);
    turn({ ...STORY.completed, lastSeq: 999 });
    const { code, stderr } = await ran;
    expect([code, stderr]).toEqual([0, expect.stringContaining('demo-w-1 is not Ready')]);
    expect(gateway.asked('POST', `${ROOT}/upgrades`)[0]?.body).toEqual({ version: 'v1.35.4', waitForChecks: true });
  });

  it('with --wait-for-checks, --yes and --no-wait leaves it to the server to begin', async () => {
    gateway.on('POST', `${ROOT}/upgrades`, { body: waiting });
    shown = waiting;
    const args = ['upgrade', 'start', 'demo', '--to', 'v1.35.4', '--wait-for-checks', '--yes', '--no-wait'];
    expect((await ask(args)).code).toBe(0);
    const body = { version: 'v1.35.4', waitForChecks: true, approved: true };
    expect(gateway.asked('POST', `${ROOT}/upgrades`)[0]?.body).toEqual(body);
    expect(gateway.asked('POST', `${ONE}/approve`)).toEqual([]);
  });

  it('draws a tree on a terminal', async () => {
    const io = fakeIo({ isLive: true });
    const ran = ask(['upgrade', 'start', 'demo', '--to', 'v1.35.4', '--yes'], io);
    await eventually(() => gateway.listeners === 1);
    turn(STORY.completed);
    expect((await ran).code).toBe(0);
    expect(io.drawn().at(-1)).toContain('✔ default/demo');
  });

  it('gives the plan up when it is not approved', async () => {
    const { code, stderr } = await ask(['upgrade', 'start', 'demo', '--reboot'], fakeIo({ answer: '' }));
    expect([code, gateway.asked('POST', `${ONE}/abort`).length]).toEqual([1, 1]);
    expect(stderr).toContain('nothing was changed');
    expect(gateway.asked('POST', `${ONE}/approve`)).toEqual([]);
  });

  it('leaves the plan to be approved at Ctrl-C, and says how it is approved and given up', async () => {
    const io = fakeIo({ answer: '' });
    const pressed = { ...io, ask: () => Promise.reject(new Error('aborted')).finally(() => io.pressCtrlC()) };
    const { code, stderr } = await ask(['upgrade', 'start', 'demo', '--reboot'], pressed);
    expect([code, gateway.asked('POST', `${ONE}/abort`)]).toEqual([130, []]);
    expect(stderr).toContain('waits for an approval');
    expect(stderr).toContain(`fairlead upgrade approve demo --plan ${HASH}`);
    expect(stderr).toContain('fairlead upgrade abort demo');
  });

  it('requests nothing without a terminal and without --yes, and ends with 2', async () => {
    const before = gateway.asked('POST', `${ROOT}/upgrades`).length;
    const { code, stderr } = await ask(['upgrade', 'start', 'demo', '--reboot']);
    expect([code, gateway.asked('POST', `${ROOT}/upgrades`).length - before]).toEqual([2, 0]);
    expect(stderr).toContain('There is no terminal for the approval of the plan; nothing was changed');
  });

  it('without a terminal advises a command that plans the same, and that does not end with 2', async () => {
    gateway.on('POST', `${ROOT}/upgrades`, { body: STORY.planned });
    for (const options of [
      ['--to', 'v1.35.4', '--pool', 'w'],
      ['--software', 'containerd=1.7.24', '--no-control-plane'],
      ['--certificates', '--reboot', '--no-workers'],
    ]) {
      const { stderr } = await ask(['upgrade', 'start', 'demo', ...options]);
      const advised = /See the plan with "fairlead ([^"]+)"/.exec(stderr)?.[1] ?? '';
      for (const option of options) expect(advised).toContain(option);
      expect((await ask(advised.split(' '))).code).toBe(0);
    }
  });

  it('that halts ends with 9, and what can be done', async () => {
    const ran = ask(['upgrade', 'start', 'demo', '--to', 'v1.35.4', '--yes']);
    await eventually(() => gateway.listeners === 1);
    turn(STORY.halted);
    const { code, stderr } = await ran;
    expect(code).toBe(9);
    expect(stderr).toContain('[upgrade.halted]');
    expect(stderr).toContain('Free space on demo-w-2-c5v7r; fairlead upgrade retry demo');
  });

  it('lets go at Ctrl-C: the rollout goes on', async () => {
    const io = fakeIo();
    const ran = ask(['upgrade', 'start', 'demo', '--to', 'v1.35.4', '--yes'], io);
    await eventually(() => gateway.listeners === 1);
    io.pressCtrlC();
    const { code, stderr } = await ran;
    expect(code).toBe(130);
    expect(stderr).toContain('Interrupted: The upgrade u-8f3k2m9q01 of demo continues on the server');
    expect(stderr).toContain('fairlead upgrade status demo --watch');
    await eventually(() => gateway.listeners === 0);
  });

  it('that comes while another is open ends with 6, with the message of the server', async () => {
    gateway.on('POST', `${ROOT}/upgrades`, refusal(409, 'upgrade.open', 'Unable to upgrade.'));
    expect(await ask(['upgrade', 'start', 'demo', '--reboot', '--yes'])).toMatchObject({ code: 6 });
  });
});

describe('upgrade status', () => {
  it('shows the latest that is not a dry run', async () => {
    shown = STORY.workers;
    const { code, stdout } = await ask(['upgrade', 'status', 'demo']);
    expect(code).toBe(0);
    expect(stdout).toContain('demo-w-2-c5v7r  Draining, waits for the PodDisruptionBudget shop/web');
  });

  it('says how a plan that waits for approval is approved or given up', async () => {
    const approve = `Approve it with "fairlead upgrade approve demo --plan ${HASH}", or give it up with`;
    shown = STORY.planned;
    expect((await ask(['upgrade', 'status', 'demo'])).stderr).toContain(approve);
    shown = STORY.workers;
    expect((await ask(['upgrade', 'status', 'demo'])).stderr).toBe('');
  });

  it('gives up in time when it follows, and says that the rollout goes on', async () => {
    shown = STORY.workers;
    const { code, stderr } = await ask(['upgrade', 'status', 'demo', '--follow', '--timeout', '200ms']);
    expect(code).toBe(8);
    expect(stderr).toContain('continues on the server');
  });

  it('of a cluster that was never upgraded ends with 5', async () => {
    gateway.on('GET', `${ROOT}/upgrades`, { body: { items: [] } });
    expect((await ask(['upgrade', 'status', 'demo'])).code).toBe(5);
  });
});

describe('an upgrade that exists', () => {
  it.each([
    [['pause', 'demo', '--reason', 'lunch'], 'pause', { reason: 'lunch' }],
    [['resume', 'demo'], 'resume', undefined],
    [['abort', 'demo'], 'abort', { reason: '' }],
    [['retry', 'demo'], 'retry', undefined],
    [['skip', 'demo', 'demo-w-1'], 'skip', { node: 'demo-w-1', reason: '' }],
    [['rollback', 'demo', 'demo-w-1'], 'rollback', { node: 'demo-w-1' }],
    [['override', 'demo', 'B4', '--reason', 'saved'], 'override', { rule: 'B4', reason: 'saved' }],
    [['approve', 'demo', '--plan', HASH], 'approve', { planHash: HASH }],
  ])('is steered by %j', async (args, action, body) => {
    expect((await ask(['upgrade', ...args])).code).toBe(0);
    expect(gateway.asked('POST', `${ONE}/${action}`)[0]?.body).toEqual(body);
  });

  it('is approved only by naming the plan, which is then followed', async () => {
    const { code, stderr } = await ask(['upgrade', 'approve', 'demo']);
    expect([code, gateway.asked('POST', `${ONE}/approve`).length]).toEqual([2, 0]);
    expect(stderr).toContain(HASH);
  });
});

describe('what belongs to upgrades', () => {
  it('holds and releases nodes and pools', async () => {
    const held = {
      kind: 'Updates',
      scope: 'pool',
      name: 'worker-1',
      disabled: true,
      reason: 'sale',
      actor: 'a',
      since: '',
    };
    gateway.on('PUT', `${ROOT}/pools/worker-1/updates`, { body: held });
    const { scope: _scope, name: _name, ...updates } = held;
    const released = { ...updates, kind: 'NodeUpdates', disabled: false, nodes: ['demo-w-1'], changed: ['demo-w-1'] };
    gateway.on('PUT', `${ROOT}/nodes/updates`, { body: released });
    expect((await ask(['pool', 'hold', 'demo', 'worker-1', '--reason', 'sale'])).stdout).toBe(
      'The pool worker-1 of demo is excluded from changes: sale.\n',
    );
    expect((await ask(['node', 'unhold', 'demo', 'demo-w-1'])).stdout).toBe(
      'Now included in changes again: demo-w-1 of demo.\n',
    );
    expect(gateway.asked('PUT', `${ROOT}/pools/worker-1/updates`)[0]?.body).toEqual({ disabled: true, reason: 'sale' });
    const nodes = { disabled: false, reason: '', select: { nodes: ['demo-w-1'] } };
    expect(gateway.asked('PUT', `${ROOT}/nodes/updates`)[0]?.body).toEqual(nodes);
  });

  it('holds nodes by pool and label, and refuses names beside them', async () => {
    const body = { kind: 'NodeUpdates', nodes: ['w-1', 'w-2'], changed: [], disabled: true, reason: 'x', actor: 'a' };
    gateway.on('PUT', `${ROOT}/nodes/updates`, { body: { ...body, since: '' } });
    const held = await ask(['node', 'hold', 'demo', '--pool', 'web', '-l', 'tier=web', '--reason', 'x']);
    expect(held.stdout).toBe('Nothing to do: the nodes in web with tier=web of demo are held already.\n');
    expect(gateway.asked('PUT', `${ROOT}/nodes/updates`)[0]?.body).toMatchObject({
      select: { pools: ['web'], labels: { tier: 'web' } },
    });
    const both = await ask(['node', 'hold', 'demo', 'w-1', '--all', '--reason', 'x']);
    expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('Name nodes, or give --pool')]);
  });

  it('saves etcd, and sets it back for who types the name of the cluster', async () => {
    const asked = {
      id: 'r1',
      kind: 'EtcdRequest',
      what: 'snapshot',
      phase: 'Running',
      snapshot: null,
      message: '',
      actor: 'a',
      requestedAt: '',
      finishedAt: null,
    };
    gateway.on('POST', `${ROOT}/etcd/snapshots`, { status: 202, body: asked });
    gateway.on('GET', `${ROOT}/etcd/requests/r1`, { body: { ...asked, phase: 'Succeeded', snapshot: 's1' } });
    const step = { name: 'snapshot-etcd', title: 'Take a snapshot', group: 'etcd', state: 'done', note: 's1' };
    const operation = {
      ...{
        id: 'e1',
        seq: 1,
        kind: 'snapshot-etcd',
        retryOf: null,
        retries: 0,
        phase: 'Succeeded',
        uid: 'u',
        actor: 'a',
      },
      ...{
        startedAt: '2026-11-21T08:00:00.000Z',
        finishedAt: '2026-11-21T08:00:02.000Z',
        durationMs: 2_000,
        nodes: [],
      },
      ...{ currentStep: null, failures: [], failuresTotal: 0, reason: '', message: '', nextActions: [] },
      steps: [
        {
          ...{ ...step, startedAt: '2026-11-21T08:00:00.000Z', finishedAt: '2026-11-21T08:00:02.000Z' },
          ...{ durationMs: 2_000, done: null, total: null, failure: null },
        },
      ],
    };
    gateway.on('GET', `${ROOT}/operations`, { body: { items: [operation] } });
    const saved = await ask(['etcd', 'snapshot', 'demo', '--wait']);
    expect(saved.stdout).toBe('The snapshot s1 of demo is complete.\n');
    expect(saved.stderr).toContain('demo  Take a snapshot: done (s1), 2.0s');
    const snapshot = {
      name: 's1',
      kind: 'EtcdSnapshot',
      node: 'demo-cp-1',
      takenAt: '2026-11-21T08:00:00.000Z',
      ageSeconds: 4_000,
      bytes: 20_480_000,
      revision: 1,
      keys: 1_290,
      sha256: 'x',
      upgrade: null,
      reason: 'command',
      verification: { state: 'verified', at: '2026-11-21T09:00:00.000Z', message: '' },
      restorable: true,
      kubernetesVersion: 'v1.34.4',
      etcdVersion: '3.6.8',
    };
    gateway.on('GET', `${ROOT}/etcd/snapshots`, { body: { items: [snapshot] } });
    gateway.on('POST', `${ROOT}/etcd/restore`, { status: 202, body: { ...asked, what: 'restore', snapshot: 's1' } });
    const alone = await ask(['etcd', 'restore', 'demo', 's1']);
    expect([alone.code, alone.stderr]).toEqual([2, expect.stringContaining('Give --yes to skip the confirmation')]);
    expect(gateway.asked('POST', `${ROOT}/etcd/restore`)).toEqual([]);
    const { stderr } = await ask(['etcd', 'restore', 'demo', 's1'], fakeIo({ answer: 'demo' }));
    expect(stderr).toContain('since s1 (1h06m old) will be lost');
    expect(gateway.asked('POST', `${ROOT}/etcd/restore`)[0]?.body).toEqual({
      ...{ snapshot: 's1', confirm: 'demo', confirmVersion: '' },
    });
    expect((await ask(['etcd', 'list', 'demo'])).stdout).toMatch(
      /s1 +v1\.34\.4 +1h06m .* 19\.5 MiB +1290 +command +2026-11-21T09:00:00\.000Z +yes/,
    );
  });

  it('lists certificates, and renews them by an upgrade', async () => {
    const certificate = {
      node: 'demo-cp-1',
      name: 'apiserver',
      expiresAt: '2027-01-01T00:00:00Z',
      daysLeft: 40,
      reportedAt: '',
    };
    gateway.on('GET', `${ROOT}/certificates`, { body: { items: [certificate] } });
    expect((await ask(['certificates', 'list', 'demo'])).stdout).toContain('apiserver');
    expect((await ask(['certificates', 'renew', 'demo', '--yes', '--no-wait'])).code).toBe(0);
    expect(gateway.asked('POST', `${ROOT}/upgrades`)[0]?.body).toEqual({ renewCertificates: true, pools: [] });
  });
});
