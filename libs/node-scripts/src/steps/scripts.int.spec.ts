import { newFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, itWith } from '@fairlead/testing/programs';
import { script } from '../shell/script.js';
import { TestHost } from './host.fixtures.js';
import { CLUSTER, CONTROL_PLANE, CREDENTIALS, UID, WORKER } from './steps.fixtures.js';
import { renderStep } from './steps.js';

const GOLDEN = fileURLToPath(new URL('golden/', import.meta.url));

const scripts = readdirSync(GOLDEN).filter((name) => name.endsWith('.sh.golden'));

/** Files of a host, relative to its root, without the stand-ins and their logs. */
const filesOf = (root: string): readonly string[] =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .filter((path) => !path.startsWith('stand-ins/') && path !== 'calls');

let host: TestHost;

beforeEach(() => {
  host = new TestHost();
});

afterEach(() => host.remove());

describe('every script', () => {
  it.each(scripts)('is accepted by a POSIX shell: %s', (name) => {
    const { status, stderr } = spawnSync('/bin/sh', ['-n', join(GOLDEN, name)], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });

  itWith('shellcheck').each(scripts)('has no shellcheck findings: %s', (name) => {
    // SC2016: apparent expansions in single quotes are content, quoted on purpose.
    expect(check('shellcheck', ['--shell=sh', '--exclude=SC2016', join(GOLDEN, name)]).lines).toEqual([]);
  });

  it.each(scripts)('prefixes every absolute path with the root: %s', (name) => {
    const text = readFileSync(join(GOLDEN, name), 'utf8');
    const commands = text
      .split('\n')
      .filter(
        (line) => !/^\s*(#|fail |problem |criSocket|Exec|script "|\[ -e \/var\/lib|resolvConf|directory:)/.test(line),
      );
    const unrooted = commands
      .map((line) => line.replaceAll(/"?\$root"?\/|unix:\/\/\S+|2?>>?\/dev\/null/g, ''))
      .filter((line) => /(^|[\s"'=<>])\/(etc|var|run|opt|proc|usr)\//.test(line));
    // A program that is looked up on the host, messages for people, and paths inside the etcd pod or a configuration.
    const rooted =
      /node=\/(opt|usr)|for (?:place|folder) in |= \/opt|problem '|fail '|--[a-z-]+=\/(etc|var)|(ca|cert|key)File: |resolvConf: |directory: |(mountPath|hostPath|path|value|authentication-config): |^(Exec|Environment=|WorkingDirectory=)|'R! \/var|^ *stats socket /;
    expect(unrooted.filter((line) => !rooted.test(line))).toEqual([]);
  });

  const sleeper = (limitSeconds: number): string =>
    script({ step: 'verify', limitSeconds, lockSeconds: 5 }, 'sleep 60\nresult "{}"').text;

  it('ends by itself at its time limit, without a connection', async () => {
    const begunAt = Date.now();
    const { code, result } = await host.run(sleeper(1));
    expect(code).not.toBe(0);
    expect(result).toBeUndefined();
    expect(Date.now() - begunAt).toBeLessThan(8_000);
  });

  it('leaves neither itself nor its parameters behind', async () => {
    await host.run(script({ step: 'verify', limitSeconds: 5, lockSeconds: 5 }, 'result "{}"').text);
    expect(readdirSync(join(host.root, 'var/lib/fairlead/steps'))).toEqual([]);
  });

  it('reports the last output of a failed command, and logs all of it', async () => {
    host.standIn(
      'kubeadm',
      'i=0; while [ $i -lt 100 ]; do echo "line $i"; i=$((i + 1)); done; echo "the end" >&2; exit 7',
    );
    const body = 'run kubeadm join\nresult "{}"';
    const { code, stderr } = await host.run(script({ step: 'verify', limitSeconds: 5, lockSeconds: 5 }, body).text);
    expect(code).toBe(7);
    expect(stderr.split('\n')).toHaveLength(40);
    expect(stderr).toMatch(/the end$/);
    expect(host.read('/var/log/fairlead/verify.log')).toMatch(/^line 0\n/);
  });

  it('returns values with quotes, backslashes and line ends as JSON', async () => {
    const body = `value='a "quoted" \\ and\ta tab'\nresult "{\\"value\\":$(json_text "$value")}"`;
    const { result } = await host.run(script({ step: 'verify', limitSeconds: 5, lockSeconds: 5 }, body).text);
    expect(result).toEqual({ value: 'a "quoted" \\ and a tab' });
  });
});

describe('every unit', () => {
  const units = readdirSync(GOLDEN).filter((name) => name.endsWith('.service.golden'));
  /**
   * Messages about this machine, not the unit: programs that only hosts have, options that only newer systemd versions
   * know.
   */
  const OF_THIS_MACHINE = /is not executable: No such file|Unknown key '(RestartSteps|RestartMaxDelaySec)'/;

  const faultsOf = (name: string, text: string): readonly string[] => {
    const { root } = host.write(`/${name}`, text);
    const { lines } = check('systemd-analyze', ['verify', '--man=no', '--recursive-errors=no', join(root, name)]);
    return lines.filter((line) => line.includes(name) && !OF_THIS_MACHINE.test(line));
  };

  itWith('systemd-analyze').each(units)('is accepted by systemd: %s', (golden) => {
    const name = golden.replace('.golden', '');
    const text = readFileSync(join(GOLDEN, golden), 'utf8');
    expect(faultsOf(name, text)).toEqual([]);
    expect(faultsOf(name, text.replace('Restart=always', 'Restart=sometimes'))).toHaveLength(1);
  });
});

describe('a step that is killed', () => {
  /** `kubeadm` kills the shell of the step, which then cannot clean up. */
  const KILLS = 'kill -9 $PPID; sleep 0.2; exit 1';
  const init = renderStep('kubeadm-init', {
    uid: UID,
    cluster: CLUSTER,
    node: CONTROL_PLANE,
    schedulable: false,
  }).script;
  const join = renderStep('kubeadm-join-worker', {
    uid: UID,
    cluster: CLUSTER,
    node: WORKER,
    credentials: CREDENTIALS,
  }).script;
  const look = script({ step: 'balance-api', limitSeconds: 10, lockSeconds: 8 }, 'result "{}"').text;
  const left = (): readonly string[] =>
    filesOf(host.root).filter((path) => /steps\/|kubeadm-(init|join)\.yaml|super-admin/.test(path));
  const containing = (secret: string): readonly string[] =>
    filesOf(host.root).filter((path) => readFileSync(`${host.root}/${path}`, 'utf8').includes(secret));

  it.each([
    ['init', init, 'mkdir -p "$root/etc/kubernetes"; echo all >"$root/etc/kubernetes/super-admin.conf"'],
    ['join', join, ':'],
  ])(
    "in kubeadm %s leaves none of its parameters, and the next step removes kubeadm's input",
    async (_, text, before) => {
      host.standIn('kubeadm', `[ "$1" != reset ] || exit 0\n${before}\n${KILLS}`);
      expect((await host.run(text)).code).not.toBe(0);
      expect(left().filter((path) => path.includes('steps/'))).toEqual([]);
      expect(left()).toContainEqual(expect.stringMatching(/^run\/fairlead\/kubeadm-/));
      expect((await host.run(look)).code).toBe(0);
      expect(left()).toEqual([]);
      expect(containing(CREDENTIALS.token)).toEqual([]);
    },
  );

  it('before it started is removed by the next one, once it is certain that it does not start', async () => {
    const steps = '/var/lib/fairlead/steps';
    host.write(`${steps}/kubeadm-join-worker-1.json`, CREDENTIALS.token).write(`${steps}/verify-2.json`, '{}');
    const minutesAgo = Date.now() / 1_000 - 6 * 60;
    utimesSync(`${host.root}${steps}/kubeadm-join-worker-1.json`, minutesAgo, minutesAgo);
    expect((await host.run(look)).code).toBe(0);
    expect(left()).toEqual(['var/lib/fairlead/steps/verify-2.json']);
  });

  it('removes nothing from a foreign control plane', async () => {
    host.write('/etc/kubernetes/super-admin.conf', 'theirs');
    expect((await host.run(look)).code).toBe(0);
    expect(host.read('/etc/kubernetes/super-admin.conf')).toBe('theirs');
  });
});

describe('on a host without flock', () => {
  let path: string;
  let bare: TestHost;

  beforeEach(() => {
    path = newFolder('path');
    const needed =
      'sh mkdir rm mv cat chmod mktemp tail touch sleep printf tr sed dirname base64 timeout grep awk'.split(' ');
    for (const name of needed) {
      const { stdout } = spawnSync('/bin/sh', ['-c', `command -v ${name}`], { encoding: 'utf8' });
      if (stdout.startsWith('/')) symlinkSync(stdout.trim(), join(path, name));
    }
    mkdirSync(join(path, 'empty'));
    bare = new TestHost(path);
  });

  afterEach(() => {
    bare.remove();
    rmSync(path, { recursive: true });
  });

  const body = 'echo in >>"$root/order"; sleep 0.3; echo out >>"$root/order"; result "{}"';
  const text = script({ step: 'verify', limitSeconds: 10, lockSeconds: 8 }, body).text;

  it('steps do not overlap either', async () => {
    const ran = await Promise.all([bare.run(text), bare.run(text)]);
    expect(ran.map(({ code }) => code)).toEqual([0, 0]);
    expect(bare.read('/order')).toBe('in\nout\nin\nout\n');
  });

  it('the lock of a dead holder is taken over', async () => {
    bare.write('/run/fairlead/step.lock.d/pid', '999999999');
    expect((await bare.run(text)).code).toBe(0);
  });
});
