import { HOST_KEY_CHANGED, ExternalFailure } from '@fairlead/contracts';
import { renderStep } from '@fairlead/node-scripts';
import { eventually, newFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { QUESTIONS } from '../../../../test/recorded/questions.js';
import { recorded } from '../../../../test/recorded/recorded.js';
import { onlyDuringStep, script, writeFile } from '../../../node-scripts/src/shell/script.js';
import { NodeSshShell } from './node-ssh.shell.js';
import { shellFeatures } from './shell.features.js';
import type { FailedTry } from './ssh.ports.js';
import { TestSshd } from './sshd.fixtures.js';

/** Recorded output of sudo on a real host for a user without the right. */
const SUDO_SAID = recorded('v1.34.4', QUESTIONS.sudoRefuses).split('\n')[0] ?? '';

/** Files of a host that contain this text, relative to its root. */
const filesWith = (root: string, text: string): readonly string[] =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => readFileSync(path, 'utf8').includes(text))
    .map((path) => path.slice(root.length + 1));

const limits = { idleMs: 2_000, connectionsMax: 10 };

shellFeatures('node-ssh against an SSH server', {
  startHost: () => TestSshd.start(),
  makeShell: () => new NodeSshShell(limits),
});

describe('node-ssh', () => {
  let sshd: TestSshd;
  const shells: NodeSshShell[] = [];
  const signal = new AbortController().signal;
  const options = { triesMax: 3, deadlineMs: 5_000, signal };

  const makeShell = (more: Partial<typeof limits> = {}): NodeSshShell => {
    const shell = new NodeSshShell({ ...limits, ...more });
    shells.push(shell);
    return shell;
  };

  beforeEach(async () => {
    sshd = await TestSshd.start();
  });

  afterEach(async () => {
    await Promise.all(shells.splice(0).map((shell) => shell.close()));
    await sshd.stop();
  });

  it('prints host keys like ssh-keygen', async () => {
    const session = await makeShell().open(sshd.address, options);
    expect(session.hostKey).toBe(sshd.fingerprint);
    session.release();
  });

  it('sets TCP_NODELAY before it sends the first byte of a connection', async () => {
    const sent = jest.spyOn(Socket.prototype, 'write');
    const withoutDelay = jest.spyOn(Socket.prototype, 'setNoDelay');
    try {
      (await makeShell().open(sshd.address, options)).release();
      const isOurs = (socket: unknown): boolean => socket instanceof Socket && socket.remotePort === sshd.address.port;
      const firstOf = ({ mock: { contexts, invocationCallOrder } }: typeof sent | typeof withoutDelay): number =>
        invocationCallOrder[contexts.findIndex(isOurs)] ?? Number.NaN;
      expect(firstOf(withoutDelay)).toBeLessThan(firstOf(sent));
    } finally {
      jest.restoreAllMocks();
    }
  });

  it('tests with a separate login whether the host accepts a key, and closes connections opened with a rejected one', async () => {
    const shell = makeShell();
    expect(await shell.accepts(sshd.address, signal)).toBe(true);
    (await shell.open(sshd.address, options)).release();
    sshd.isLocked = true;
    const open = await shell.open(sshd.address, options);
    expect(open.attempts).toBe(0);
    open.release();
    expect(await shell.accepts(sshd.address, signal)).toBe(false);
    await expect(shell.open(sshd.address, { ...options, triesMax: 1 })).rejects.toThrow('authentication');
    await sshd.goAway();
    await expect(shell.accepts(sshd.address, signal)).rejects.toThrow('does not answer');
  });

  it('reports after each attempt when the next one follows, and after the last one how many there were', async () => {
    await sshd.goAway();
    const tries: FailedTry[] = [];
    const onFailedTry = async (tried: FailedTry): Promise<void> => void tries.push(tried);
    const opening = makeShell().open(sshd.address, { ...options, onFailedTry });
    await expect(opening).rejects.toThrow('does not answer after 3 tries');
    expect(tries.map(({ attempt }) => attempt)).toEqual([1, 2]);
    for (const { message, nextAt, until } of tries) {
      expect(message).toMatch(/ does not answer: /);
      expect(nextAt.getTime()).toBeLessThanOrEqual(until.getTime());
    }
  });

  it('closes an idle connection, and keeps a used one', async () => {
    const shell = makeShell({ idleMs: 100 });
    const session = await shell.open(sshd.address, options);
    await new Promise((resolve) => setTimeout(resolve, 300));
    const other = await shell.open(sshd.address, options);
    expect(sshd.connections()).toBe(1);
    session.release();
    other.release();
    await new Promise((resolve) => setTimeout(resolve, 300));
    (await shell.open(sshd.address, options)).release();
    expect(sshd.connections()).toBe(2);
  });

  it('opens another connection if the kept one can no longer run anything', async () => {
    const shell = makeShell();
    const run = { name: 'verify-abc', operation: 'verify', text: 'echo done', input: {}, limitMs: 5_000 };
    (await shell.open(sshd.address, options)).release();
    await sshd.goAway();
    await sshd.comeBack();
    for (let tries = 1; ; tries += 1) {
      const session = await shell.open(sshd.address, options);
      const said = await session.run(run, signal).catch(() => undefined);
      session.release();
      if (said?.stdout === 'done\n') break;
      expect(tries).toBe(1);
    }
    expect(sshd.connections()).toBe(2);
  });

  it('never exceeds its maximum of connections: an idle one is closed for a new one, a busy one is not', async () => {
    const second = await TestSshd.start();
    try {
      const shell = makeShell({ connectionsMax: 1 });
      const first = await shell.open(sshd.address, options);
      const refused = shell.open(second.address, { ...options, deadlineMs: 300 });
      await expect(refused).rejects.toThrow(/all 1 connections were in use/);
      first.release();
      const session = await shell.open(second.address, options);
      expect(session.attempts).toBe(1);
      session.release();
    } finally {
      await second.stop();
    }
  });

  it('runs a rendered step, which removes its own file and the parameters in it', async () => {
    const bin = `${sshd.root}/bin`;
    mkdirSync(bin);
    const standIn = (name: string, text: string): void => {
      writeFileSync(`${bin}/${name}`, `#!/bin/sh\n${text}\n`);
      chmodSync(`${bin}/${name}`, 0o755);
    };
    standIn('kubeadm', 'echo v1.34.4');
    standIn('kubelet', 'echo "Kubernetes v1.33.13"');
    standIn('systemctl', 'exit 0');
    const host = await TestSshd.start({ PATH: `${bin}:${process.env['PATH'] ?? ''}` });
    try {
      const { script, input, limitMs } = renderStep('verify', {
        controlPlane: true,
        address: '198.18.7.11',
        kubernetesVersion: 'v1.34.4',
        failSwapOn: true,
      });
      const session = await makeShell().open(host.address, options);
      const run = { name: 'verify-abc', operation: 'verify', text: script, input, limitMs };
      const { stdout } = await session.run(run, signal);
      expect(stdout).toBe('FAIRLEAD-RESULT {"problems":["kubelet is v1.33.13, not v1.34.4"]}\n');
      expect(await host.read('/var/lib/fairlead/steps/verify-abc.sh')).toBeUndefined();
      session.release();
    } finally {
      await host.stop();
    }
  });

  it('leaves nothing of a killed step, and the next step removes its inputs', async () => {
    const bin = newFolder('bin');
    const kills = '[ "$1" != reset ] || exit 0\nkill -9 $PPID; sleep 0.2';
    writeFileSync(join(bin, 'kubeadm'), `#!/bin/sh\n${kills}\n`);
    chmodSync(join(bin, 'kubeadm'), 0o755);
    const host = await TestSshd.start({ PATH: `${bin}:${process.env['PATH'] ?? ''}` });
    try {
      const session = await makeShell().open(host.address, options);
      const text = script(
        { step: 'kubeadm-join-worker', limitSeconds: 20, lockSeconds: 5 },
        `${onlyDuringStep('/run/fairlead/kubeadm-join.yaml')}
${writeFile('/run/fairlead/kubeadm-join.yaml', '600', 'token: canary')}
run kubeadm join # canary`,
      ).text;
      const run = { name: 'kubeadm-join-worker-abc', operation: 'kubeadm join', input: { token: 'canary' } };
      await expect(session.run({ ...run, text, limitMs: 20_000 }, signal)).rejects.toThrow();
      expect(filesWith(host.root, 'canary')).toEqual(['run/fairlead/kubeadm-join.yaml']);
      const next = script({ step: 'balance-api', limitSeconds: 20, lockSeconds: 5 }, 'result "{}"').text;
      await session.run(
        { name: 'balance-api-next', operation: 'next', text: next, input: {}, limitMs: 20_000 },
        signal,
      );
      expect(filesWith(host.root, 'canary')).toEqual([]);
      session.release();
    } finally {
      await host.stop();
      rmSync(bin, { recursive: true });
    }
  });

  it('leaves nothing of a step that was aborted before it began', async () => {
    const session = await makeShell().open(sshd.address, options);
    const run = {
      name: 'verify-canary',
      operation: 'verify',
      text: 'exec sleep 30 # canary',
      input: { key: 'canary' },
    };
    const controller = new AbortController();
    const running = session.run({ ...run, limitMs: 40_000 }, controller.signal);
    await eventually(async () => (await sshd.read('/var/lib/fairlead/steps/verify-canary.sh')) !== undefined);
    controller.abort(new Error('no longer desired'));
    await expect(running).rejects.toThrow('no longer desired');
    expect(filesWith(sshd.root, 'canary')).toEqual([]);
    session.release();
  });

  it('uses sudo where root is required and the user is not root', async () => {
    const bin = newFolder('bin');
    writeFileSync(
      join(bin, 'sudo'),
      '#!/bin/sh\necho "$*" >>"$FAIRLEAD_ROOT/sudo.log"\n[ "$1" = -n ] && shift\nexec "$@"\n',
    );
    chmodSync(join(bin, 'sudo'), 0o755);
    const host = await TestSshd.start({ PATH: `${bin}:${process.env['PATH'] ?? ''}` });
    try {
      const session = await makeShell().open({ ...host.address, user: 'debian' }, options);
      const { stdout } = await session.run(
        { name: 'verify-abc', operation: 'verify', text: 'echo as root', input: {}, limitMs: 5_000 },
        signal,
      );
      expect(stdout).toBe('as root\n');
      const content = Buffer.from('// the agent');
      const sha256 = createHash('sha256').update(content).digest('hex');
      await session.upload({ path: '/opt/fairlead/agent.mjs', content, mode: 0o644, sha256 }, signal);
      expect(await host.read('/opt/fairlead/agent.mjs')).toBe('// the agent');
      expect(await host.read(`/.fairlead/${sha256}`)).toBeUndefined();
      expect(await host.modeOf('/.fairlead')).toBe(0o700);
      expect((await host.read('/sudo.log'))?.split('\n')).toEqual([
        '-n sh -s verify-abc',
        expect.stringMatching(/^-n install -D -m 644 \.fairlead\/[\w-]+ /),
        '-n sha256sum --check --status',
        expect.stringMatching(/^-n mv -f \S+agent\.mjs\.[\w-]+ \S+agent\.mjs$/),
        '',
      ]);
      session.release();
    } finally {
      await host.stop();
      rmSync(bin, { recursive: true });
    }
  });

  it.each([
    [SUDO_SAID, /NOPASSWD in sudoers\): sudo: a password is required/],
    ['ops is not in the sudoers file.', /NOPASSWD in sudoers\): ops is not in the sudoers file/],
    ['sh: 1: sudo: not found', /NOPASSWD in sudoers\): sh: 1: sudo: not found/],
  ])("reports the remedy for sudo's error %j", async (words, expected) => {
    const bin = newFolder('bin');
    writeFileSync(join(bin, 'sudo'), `#!/bin/sh\necho '${words}' >&2\nexit 1\n`);
    chmodSync(join(bin, 'sudo'), 0o755);
    const host = await TestSshd.start({ PATH: `${bin}:${process.env['PATH'] ?? ''}` });
    try {
      const session = await makeShell().open({ ...host.address, user: 'ops' }, options);
      const failure = await session
        .run({ name: 'verify-abc', operation: 'verify', text: 'true', input: {}, limitMs: 5_000 }, signal)
        .catch((error: unknown) => error);
      expect(failure).toMatchObject({ name: 'ExternalFailure', retryable: false });
      expect((failure as ExternalFailure).message).toMatch(expected);
      expect(await host.read('/var/lib/fairlead/steps/verify-abc.sh')).toBeUndefined();
      session.release();
    } finally {
      await host.stop();
      rmSync(bin, { recursive: true });
    }
  });

  describe('through a jump host', () => {
    let jump: TestSshd;
    let second: TestSshd;

    beforeEach(async () => {
      [jump, second] = await Promise.all([TestSshd.start(), TestSshd.start()]);
    });

    afterEach(() => Promise.all([jump.stop(), second.stop()]));

    const via = (host: TestSshd, hop: { readonly hostKey?: string } = {}) => ({
      ...host.address,
      hostKey: host.fingerprint,
      jump: { ...jump.address, hostKey: jump.fingerprint, ...hop },
    });

    it('runs steps on hosts like without one', async () => {
      const session = await makeShell().open(via(sshd), options);
      const said = await session.run(
        { name: 'verify-abc', operation: 'verify', text: 'echo behind', input: {}, limitMs: 5_000 },
        signal,
      );
      expect([said.stdout, session.hostKey]).toEqual(['behind\n', sshd.fingerprint]);
      expect(await sshd.read('/var/lib/fairlead/steps/verify-abc.sh')).toBeDefined();
      expect(await jump.read('/var/lib/fairlead/steps/verify-abc.sh')).toBeUndefined();
      session.release();
    });

    it('opens one connection to the jump host for all hosts behind it, and closes it after their last use', async () => {
      const shell = makeShell({ idleMs: 100 });
      const sessions = await Promise.all([via(sshd), via(second)].map((address) => shell.open(address, options)));
      expect([jump.connections(), jump.forwarded]).toEqual([1, 2]);
      for (const session of sessions) session.release();
      await new Promise((resolve) => setTimeout(resolve, 500));
      (await shell.open(via(sshd), options)).release();
      expect(jump.connections()).toBe(2);
    });

    it('pins the jump host as well: a wrong key there fails at once, and names it', async () => {
      const wrong = via(sshd, { hostKey: `SHA256:${'A'.repeat(43)}` });
      const failure = await makeShell()
        .open(wrong, { ...options, triesMax: 5 })
        .catch((error: unknown) => error);
      expect(failure).toMatchObject({ name: 'ExternalFailure', retryable: false, target: 'demo-cp-1-aaaaa' });
      expect((failure as ExternalFailure).message).toMatch(
        /^the jump host root@127\.0\.0\.1:\d+: the host shows the key/,
      );
      expect(jump.connections()).toBe(1);
    });

    it('pins the host behind it', async () => {
      const wrong = { ...via(sshd), hostKey: jump.fingerprint };
      await expect(makeShell().open(wrong, options)).rejects.toThrow(/^the host shows the key/);
    });

    it('uses no connection whose jump host showed another key, including open ones', async () => {
      const shell = makeShell();
      const first = await shell.open({ ...via(sshd), jump: jump.address }, options);
      expect(first.jumpHostKey).toBe(jump.fingerprint);
      first.release();
      const wrong = `SHA256:${'A'.repeat(43)}`;
      for (const host of [sshd, second])
        await expect(shell.open(via(host, { hostKey: wrong }), options)).rejects.toMatchObject({
          reason: HOST_KEY_CHANGED,
          message: expect.stringContaining(`the host shows the key ${jump.fingerprint}, and ${wrong} is the one`),
        });
      (await shell.open(via(second), options)).release();
    });

    it('distinguishes an unreachable jump host from an unreachable host', async () => {
      await sshd.goAway();
      await expect(makeShell().open(via(sshd), { ...options, triesMax: 2 })).rejects.toThrow(
        /does not answer after 2 tries: the jump host .*/,
      );
      await sshd.comeBack();
      await jump.goAway();
      await expect(makeShell().open(via(sshd), { ...options, triesMax: 1 })).rejects.toThrow(
        /the jump host .*ECONNREFUSED/,
      );
      await jump.comeBack();
      (await makeShell().open(via(sshd), options)).release();
    });
  });

  it('is a ExternalFailure if the host accepts none of the keys', async () => {
    const opening = makeShell().open({ ...sshd.address, privateKey: 'no key at all' }, { ...options, triesMax: 1 });
    await expect(opening).rejects.toBeInstanceOf(ExternalFailure);
  });
});
