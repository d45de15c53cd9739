import { ExternalFailure } from '@fairlead/contracts';
import { eventually } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import type { HostAddress, HostScript, HostShell, OpenOptions } from './ssh.ports.js';

/** A host under test, with access from outside. */
export interface HostUnderTest {
  readonly address: HostAddress;
  /** The content of a file on the host; undefined: not found. */
  read(path: string): Promise<string | undefined>;
  /** Permission bits. */
  modeOf(path: string): Promise<number>;
  /** Number of connections that the host has accepted. */
  connections(): number;
  /** Stops listening and closes open connections. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  stop(): Promise<void>;
}

export interface ShellUnderTest {
  readonly startHost: () => Promise<HostUnderTest>;
  readonly makeShell: () => HostShell;
}

const patient: Omit<OpenOptions, 'signal'> = { triesMax: 15, deadlineMs: 20_000 };
const never = (): AbortSignal => new AbortController().signal;

const script = (text: string, more: Partial<HostScript> = {}): HostScript => ({
  name: 'verify-1',
  operation: 'verify',
  text,
  input: { some: 'parameter' },
  limitMs: 10_000,
  ...more,
});

const failureOf = async (work: Promise<unknown>): Promise<ExternalFailure> => {
  const error = await work.then(
    () => new Error('it did not fail'),
    (reason: unknown) => reason,
  );
  if (!(error instanceof ExternalFailure)) throw error;
  return error;
};

/** The contract of every shell (ssh.ports.ts). */
export const shellFeatures = (name: string, { startHost, makeShell }: ShellUnderTest): void => {
  describe(`a shell on a host: ${name}`, () => {
    let host: HostUnderTest;
    let shell: HostShell;

    beforeEach(async () => {
      host = await startHost();
      shell = makeShell();
    });

    afterEach(async () => {
      await shell.close();
      await host.stop();
    });

    const open = (more: Partial<HostAddress> = {}, options: Partial<OpenOptions> = {}) =>
      shell.open({ ...host.address, ...more }, { ...patient, signal: never(), ...options });

    it('runs a script under its name and returns its output', async () => {
      const session = await open();
      const text = 'basename "$0"; cat; echo to-stderr >&2\n';
      const output = await session.run(script(text), never());
      expect(output.stdout).toBe('verify-1.sh\n');
      expect(output.stderr).toBe('to-stderr\n');
      session.release();
    });

    it('leaves scripts readable for no one else, and none of their content in a command line', async () => {
      const session = await open();
      const text = `tr '\\0' ' ' <"/proc/$$/cmdline" # canary`;
      const { stdout } = await session.run(script(text, { input: 'canary' }), never());
      expect(stdout).toMatch(/^sh \S+\/verify-1\.sh $/);
      expect(await host.modeOf('/var/lib/fairlead/steps/verify-1.sh')).toBe(0o600);
      session.release();
    });

    it('reports a failing script with its last output, operation and host', async () => {
      const session = await open();
      const failure = await failureOf(session.run(script('echo noise; echo "swap is on" >&2; exit 3'), never()));
      expect(failure.toCause()).toEqual({ operation: 'verify', target: host.address.name, message: 'swap is on' });
      expect(failure.retryable).toBe(true);
      session.release();
    });

    it("keeps only the end of a failing script's output", async () => {
      const session = await open();
      const text = 'i=0; while [ $i -lt 5000 ]; do echo "line $i" >&2; i=$((i+1)); done; echo "the end" >&2; exit 1';
      const failure = await failureOf(session.run(script(text), never()));
      expect(failure.message.length).toBeLessThanOrEqual(2_000);
      expect(failure.message).toMatch(/the end$/);
      session.release();
    });

    it('limits how much it reads', async () => {
      const session = await open();
      const failure = await failureOf(
        session.run(script('while true; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done'), never()),
      );
      expect(failure.message).toMatch(/printed more than/);
      session.release();
    });

    it('rejects at once when it is aborted, with the reason of the abort', async () => {
      const session = await open();
      const controller = new AbortController();
      const reason = new Error('no longer desired');
      const running = session.run(script('echo started >"${FAIRLEAD_ROOT:-}/started"; sleep 30'), controller.signal);
      running.catch(() => undefined);
      await eventually(async () => (await host.read('/started')) !== undefined);
      controller.abort(reason);
      await expect(running).rejects.toBe(reason);
      session.release();
    });

    it('uploads the same file for several callers at the same time', async () => {
      const session = await open();
      const content = Buffer.alloc(2_000_000, 'fairlead');
      const sha256 = createHash('sha256').update(content).digest('hex');
      const file = { path: '/opt/fairlead/agent.next.mjs', content, mode: 0o644, sha256 };
      await Promise.all([1, 2, 3, 4].map(() => session.upload(file, never())));
      expect((await host.read(file.path))?.length).toBe(content.length);
      session.release();
    });

    it('uploads a file atomically, and only with the right checksum', async () => {
      const session = await open();
      const content = Buffer.alloc(300_000, 'fairlead');
      const sha256 = createHash('sha256').update(content).digest('hex');
      await session.upload({ path: '/opt/fairlead/agent.mjs', content, mode: 0o644, sha256 }, never());
      expect(await host.read('/opt/fairlead/agent.mjs')).toBe(content.toString());
      expect(await host.modeOf('/opt/fairlead/agent.mjs')).toBe(0o644);
      const wrong = { path: '/opt/fairlead/other.mjs', content, mode: 0o644, sha256: 'ab'.repeat(32) };
      await failureOf(session.upload(wrong, never()));
      expect(await host.read('/opt/fairlead/other.mjs')).toBeUndefined();
      session.release();
    });

    it('checks whether a file exists', async () => {
      const session = await open();
      expect(await session.exists('/etc/fairlead/agent.json', never())).toBe(false);
      await session.run(
        script('mkdir -p "$FAIRLEAD_ROOT/etc/fairlead"; echo >"$FAIRLEAD_ROOT/etc/fairlead/agent.json"'),
        never(),
      );
      expect(await session.exists('/etc/fairlead/agent.json', never())).toBe(true);
      session.release();
    });

    it('uses one connection for the steps of a host, including concurrent ones', async () => {
      const [one, other] = await Promise.all([open(), open()]);
      await Promise.all([
        one.run(script('true', { name: 'verify-1' }), never()),
        other.run(script('true', { name: 'verify-2' }), never()),
      ]);
      one.release();
      other.release();
      const third = await open();
      await third.run(script('true', { name: 'verify-3' }), never());
      third.release();
      expect(host.connections()).toBe(1);
      expect(third.attempts).toBe(0);
    });

    it('reports the host key that it saw, and rejects another one permanently', async () => {
      const seen = await open({ hostKey: null });
      expect(seen.hostKey).toMatch(/^SHA256:[A-Za-z0-9+/]{43}$/);
      seen.release();
      await shell.close();
      const pinned = await open({ hostKey: seen.hostKey });
      pinned.release();
      await shell.close();
      const failure = await failureOf(open({ hostKey: `SHA256:${'A'.repeat(43)}` }));
      expect(failure.retryable).toBe(false);
      expect(failure.message).toContain(seen.hostKey);
    });

    it('retries until a late host answers [CB-Ladybug 14]', async () => {
      await host.goAway();
      const opening = open();
      const back = new Promise((resolve) => setTimeout(resolve, 700)).then(() => host.comeBack());
      const [session] = await Promise.all([opening, back]);
      expect(session.attempts).toBeGreaterThan(1);
      session.release();
    });

    it('fails for a host that never answers, naming it, after its maximum of attempts [CB-Ladybug 13]', async () => {
      await host.goAway();
      const failure = await failureOf(open({}, { triesMax: 3 }));
      expect(failure.toCause()).toMatchObject({ operation: 'open SSH', target: host.address.name });
      expect(failure.message).toMatch(/after 3 tries/);
      expect(failure.retryable).toBe(false);
    });

    it('fails at the deadline, however many attempts are left', async () => {
      await host.goAway();
      const begunAt = Date.now();
      await failureOf(open({}, { triesMax: 100, deadlineMs: 1_500 }));
      expect(Date.now() - begunAt).toBeLessThan(4_000);
    });

    it('opens a new connection after the old one was lost, and reports what was lost meanwhile', async () => {
      const session = await open();
      const running = session.run(script('sleep 30'), never());
      const failing = failureOf(running);
      await eventually(async () => (await host.read('/var/lib/fairlead/steps/verify-1.sh')) !== undefined);
      await host.goAway();
      expect((await failing).toCause()).toMatchObject({ operation: 'verify', target: host.address.name });
      session.release();
      await host.comeBack();
      const again = await open();
      expect((await again.run(script('echo back'), never())).stdout).toBe('back\n');
      again.release();
    });
  });
};
