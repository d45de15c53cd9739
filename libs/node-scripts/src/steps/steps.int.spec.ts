import { newFolder } from '@fairlead/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createHash } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { check, itWith } from '../../../../test/recorded/checkers.js';
import { authenticationConfig } from '../kubeadm/authentication.config.js';
import { script } from '../shell/script.js';
import { TestHost } from './host.fixtures.js';
import {
  AGENT_CONFIG,
  CLUSTER,
  CONTROL_PLANE,
  CREDENTIALS,
  ETCD_CLUSTER,
  ETCD_MEMBER,
  NATS_CREDENTIALS,
  OIDC,
  PEERS,
  SHARED,
  UID,
  WORKER,
} from './steps.fixtures.js';
import type { NodeLogInput } from './node-log.script.js';
import { renderStep } from './steps.js';

const GOLDEN = fileURLToPath(new URL('golden/', import.meta.url));
const scripts = readdirSync(GOLDEN).filter((name) => name.endsWith('.sh.golden'));

/** Files of a host, relative to its root, without the stand-ins and their notes. */
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
  it.each(scripts)('is understood by a POSIX shell: %s', (name) => {
    const { status, stderr } = spawnSync('/bin/sh', ['-n', join(GOLDEN, name)], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });

  itWith('shellcheck').each(scripts)('has nothing that shellcheck complains about: %s', (name) => {
    // SC2016: what looks like an expansion in single quotes is content, quoted on purpose.
    expect(check('shellcheck', ['--shell=sh', '--exclude=SC2016', join(GOLDEN, name)]).lines).toEqual([]);
  });

  it.each(scripts)('names no absolute path without the root before it: %s', (name) => {
    const text = readFileSync(join(GOLDEN, name), 'utf8');
    const commands = text
      .split('\n')
      .filter(
        (line) => !/^\s*(#|fail |problem |criSocket|Exec|script "|\[ -e \/var\/lib|resolvConf|directory:)/.test(line),
      );
    const unrooted = commands
      .map((line) => line.replaceAll(/"?\$root"?\/|unix:\/\/\S+|2?>>?\/dev\/null/g, ''))
      .filter((line) => /(^|[\s"'=<>])\/(etc|var|run|opt|proc|usr)\//.test(line));
    // A program that the host is asked for, what is said to people, and paths inside the etcd pod or a configuration.
    const told =
      /node=\/(opt|usr)|for place in |= \/opt|problem '|fail '|--[a-z-]+=\/(etc|var)|(ca|cert|key)File: |resolvConf: |directory: |(mountPath|hostPath|path|value|authentication-config): |^(Exec|Environment=)|'R! \/var/;
    expect(unrooted.filter((line) => !told.test(line))).toEqual([]);
  });

  const sleeper = (limitSeconds: number): string =>
    script({ step: 'verify', limitSeconds, lockSeconds: 5 }, 'sleep 60\nresult "{}"').text;

  it('ends by itself when its time is over, with no one connected', async () => {
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

  it('reports the last output of a command that failed, and keeps all of it in a log', async () => {
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

  it('gives values with quotes, backslashes and line ends in its result as JSON', async () => {
    const body = `value='a "quoted" \\ and\ta tab'\nresult "{\\"value\\":$(json_text "$value")}"`;
    const { result } = await host.run(script({ step: 'verify', limitSeconds: 5, lockSeconds: 5 }, body).text);
    expect(result).toEqual({ value: 'a "quoted" \\ and a tab' });
  });
});

describe('a member of an etcd beside kubeadm', () => {
  const text = renderStep('etcd-member', ETCD_MEMBER).script;
  const UNIT = '/etc/systemd/system/fairlead-etcd.service';
  const ctr = `case "$*" in
  *' images mount '*)
    for at in "$@"; do :; done
    mkdir -p "$at/usr/local/bin"
    for program in etcd etcdctl etcdutl; do echo "$program" >"$at/usr/local/bin/$program"; done;;
  *' images unmount '*)
    for at in "$@"; do :; done
    rm -rf "$at";;
esac`;
  const systemctl = `case "$1" in
  is-enabled) [ -e "$root/enabled" ];;
  enable) : >"$root/enabled";;
  is-active) [ -e "$root/active" ];;
  start | restart) : >"$root/active";;
esac`;

  it('is put together from the image, and asked again changes nothing, with what certificates ever', async () => {
    host.standIn('ctr', ctr).standIn('systemctl', systemctl);
    expect(await host.run(text)).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.calls('ctr').filter((call) => call.includes('pull'))).toHaveLength(1);
    expect(host.read('/opt/fairlead/etcd/etcd')).toBe('etcd\n');
    expect(host.read(UNIT)).toContain('--name=demo-cp-1-x7k2p');
    expect(host.read('/etc/fairlead/etcd/server.key')).toBe('key of the server\n');
    expect(host.read('/etc/fairlead/etcd-client/apiserver-etcd-client.crt')).toBe('certificate of the API server\n');
    const reissued = { cert: 'another certificate\n', key: 'another key\n' };
    const certificates = { ...ETCD_MEMBER.certificates, server: reissued };
    const again = renderStep('etcd-member', { ...ETCD_MEMBER, certificates }).script;
    expect(await host.run(again)).toMatchObject({ code: 0, result: { changed: false } });
    expect(host.read('/etc/fairlead/etcd/server.key')).toBe('key of the server\n');
    expect(host.calls('systemctl').filter((call) => /start/.test(call))).toHaveLength(1);
  });

  it('that was interrupted before its authority was written gets all of its certificates again', async () => {
    host.standIn('ctr', ctr).standIn('systemctl', systemctl).write('/etc/fairlead/etcd/server.crt', 'of another key');
    expect(await host.run(text)).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.read('/etc/fairlead/etcd/server.crt')).toBe('certificate of the server\n');
  });

  it('is started again where the run that should have done it was cut off', async () => {
    host
      .standIn('ctr', ctr)
      .standIn('systemctl', `[ "$1" != restart ] || [ -e "$root/mended" ] || exit 1\n${systemctl}`);
    host.write('/active', '');
    expect((await host.run(text)).code).toBe(1);
    host.write('/mended', '');
    expect(await host.run(text)).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.calls('systemctl').filter((call) => call.includes('restart'))).toHaveLength(2);
  });

  it('does not begin where the data of another etcd are, and goes on with its own', async () => {
    host.standIn('ctr', ctr).standIn('systemctl', systemctl).write('/var/lib/etcd/member/wal/0.wal', 'of another');
    const { code, stderr } = await host.run(text);
    expect([code, stderr]).toEqual([1, expect.stringContaining('data of another etcd')]);
    expect(host.read(UNIT)).toBeUndefined();
    host.write(`/var/lib/fairlead/etcd.${UID}.started`, '');
    expect(await host.run(text)).toMatchObject({ code: 0, result: { changed: true } });
  });

  it('fails with the error of containerd where its image cannot be pulled', async () => {
    host.standIn('ctr', 'case "$*" in *pull*) echo "no such host" >&2; exit 1;; esac').standIn('systemctl', systemctl);
    expect(await host.run(text)).toMatchObject({ code: 1, stderr: 'no such host' });
  });

  it('waits for its image where the agent brings it', async () => {
    const list = `case "$*" in *' images list '*)
  if [ -e "$root/brought" ]; then echo registry.k8s.io/etcd:3.6.5-0; fi
  : >"$root/brought";;
esac`;
    host.standIn('ctr', `${list}\n${ctr}`).standIn('systemctl', systemctl).standIn('sleep', 'exit 0');
    const files = renderStep('etcd-member', { ...ETCD_MEMBER, pull: false }).script;
    expect(await host.run(files)).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.calls('ctr').filter((call) => call.includes('images list'))).toHaveLength(2);
    expect(host.calls('ctr').filter((call) => call.includes('pull'))).toEqual([]);
  });

  it('is healthy once every member has started and answers [CB-Ladybug 22]', async () => {
    const health = renderStep('etcd-health', { members: 3 }).script;
    host
      .write('/said/list', ['a', 'b', 'c'].map((id) => `${id}, started, e${id}, p, c, false\n`).join(''))
      .write('/said/health', ['a', 'b', 'c'].map((id) => `https://${id}:2379 is healthy: committed\n`).join(''))
      .standIn('sleep', 'rm -f "$root/late"')
      .write('/late', '')
      .write(
        '/opt/fairlead/etcd/etcdctl',
        `#!/bin/sh\nif [ -e "$FAIRLEAD_ROOT/late" ]; then echo 'context deadline exceeded'; exit 1; fi
case "$*" in *' member list'*) cat "$FAIRLEAD_ROOT/said/list";; *) cat "$FAIRLEAD_ROOT/said/health";; esac\n`,
      );
    chmodSync(join(host.root, 'opt/fairlead/etcd/etcdctl'), 0o755);
    expect(await host.run(health)).toMatchObject({ code: 0, result: { members: 3 } });
  });

  it('is gone from a host that is reset: unit, programs, certificates and data', async () => {
    host.standIn('ctr', ctr).standIn('systemctl', systemctl);
    await host.run(text);
    host.write('/var/lib/etcd/member/wal/0.wal', 'data');
    const reset = renderStep('kubeadm-reset', { removeAgent: true, of: UID }).script;
    expect(await host.run(reset)).toMatchObject({ code: 0, result: { changed: true, left: [] } });
    for (const path of [UNIT, '/opt/fairlead/etcd', '/etc/fairlead/etcd', '/etc/fairlead/etcd-client', '/var/lib/etcd'])
      expect([path, existsSync(join(host.root, path))]).toEqual([path, false]);
    expect(host.calls('systemctl')).toContain('systemctl disable --now fairlead-etcd.service');
  });
});

describe('kubeadm init', () => {
  const text = renderStep('kubeadm-init', {
    uid: UID,
    cluster: CLUSTER,
    node: CONTROL_PLANE,
    schedulable: false,
  }).script;
  const KUBECONFIG = Buffer.from('kubeconfig\n').toString('base64');
  const kubeadm = (before = ''): string =>
    `[ "$1" = init ] || exit 0\n${before}\nmkdir -p "$root/etc/kubernetes"; echo kubeconfig >"$root/etc/kubernetes/admin.conf"`;

  it('runs once; asked again it gives the same answer and changes nothing', async () => {
    host.standIn('kubeadm', kubeadm());
    expect(await host.run(text)).toMatchObject({ code: 0, result: { changed: true, kubeconfig: KUBECONFIG } });
    expect(await host.run(text)).toMatchObject({ code: 0, result: { changed: false, kubeconfig: KUBECONFIG } });
    expect(host.calls('kubeadm')).toHaveLength(1);
    expect(host.calls('kubeadm')[0]).toContain('--config');
  });

  it('leaves neither super-admin.conf, which is past RBAC, nor its configuration on the disk', async () => {
    host.standIn('kubeadm', `${kubeadm()}; echo all >"$root/etc/kubernetes/super-admin.conf"`);
    expect((await host.run(text)).code).toBe(0);
    expect(host.read('/etc/kubernetes/super-admin.conf')).toBeUndefined();
    expect(host.read('/run/fairlead/kubeadm-init.yaml')).toBeUndefined();
    expect(host.read('/etc/fairlead/kubeadm-init.yaml')).toBeUndefined();
    // Also one that is there from before this was so.
    host.write('/etc/kubernetes/super-admin.conf', 'all');
    expect((await host.run(text)).result).toEqual({ changed: false, kubeconfig: KUBECONFIG });
    expect(host.read('/etc/kubernetes/super-admin.conf')).toBeUndefined();
  });

  it('is refused on a host that is the control plane of something else', async () => {
    host.standIn('kubeadm', kubeadm()).write('/etc/kubernetes/admin.conf', 'of another cluster');
    const { code, stderr } = await host.run(text);
    expect([code, stderr]).toEqual([1, expect.stringContaining('refusing to initialise it again')]);
    expect(host.calls('kubeadm')).toEqual([]);
    expect(host.read('/etc/kubernetes/admin.conf')).toBe('of another cluster');
  });

  it('that was interrupted empties an etcd that is not its own, and lets its data be', async () => {
    const external = renderStep('kubeadm-init', {
      uid: UID,
      cluster: ETCD_CLUSTER,
      node: CONTROL_PLANE,
      schedulable: false,
    }).script;
    host
      .standIn('kubeadm', kubeadm())
      .write(`/var/lib/fairlead/kubeadm-init.${UID}.started`, '')
      .write('/var/lib/etcd/member/wal/0.wal', 'of the member')
      .write('/opt/fairlead/etcd/etcdctl', '#!/bin/sh\necho "etcdctl $*" >>"$FAIRLEAD_ROOT/calls"\n');
    chmodSync(join(host.root, 'opt/fairlead/etcd/etcdctl'), 0o755);
    expect(await host.run(external)).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.calls('etcdctl')).toEqual([expect.stringMatching(/ del {2}--prefix$/)]);
    expect(host.read('/var/lib/etcd/member/wal/0.wal')).toBe('of the member');
    expect(await host.run(external)).toMatchObject({ code: 0, result: { changed: false } });
    expect(host.calls('etcdctl')).toHaveLength(1);
  });

  it('that was interrupted is cleaned and begun again', async () => {
    host.standIn(
      'kubeadm',
      `${kubeadm()}; [ -e "$root/well" ] || { touch "$root/well"; echo "no space left" >&2; exit 1; }`,
    );
    expect(await host.run(text)).toMatchObject({ code: 1, stderr: 'no space left' });
    host.write('/var/lib/etcd/member/wal', 'half');
    expect(await host.run(text)).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.calls('kubeadm').map((call) => call.split(' ')[1])).toEqual(['init', 'reset', 'init']);
    expect(host.read('/var/lib/etcd/member/wal')).toBeUndefined();
  });

  it('never runs twice at the same time', async () => {
    host.standIn('kubeadm', kubeadm('sleep 0.5'));
    const ran = await Promise.all([host.run(text), host.run(text), host.run(text)]);
    expect(ran.map(({ result }) => (result as { changed: boolean }).changed).sort()).toEqual([false, false, true]);
    expect(host.calls('kubeadm')).toHaveLength(1);
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

  it('the lock of a holder that is gone is taken over', async () => {
    bare.write('/run/fairlead/step.lock.d/pid', '999999999');
    expect((await bare.run(text)).code).toBe(0);
  });
});

describe('how users sign in', () => {
  const FILE = '/etc/kubernetes/authentication/config.yaml';
  const READ = 'apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds';
  const [former, content] = [authenticationConfig(undefined), authenticationConfig(OIDC)];
  const step = renderStep('authentication', { address: '198.18.7.11', content }).script;
  /** What the API server says: when it started, and when it last took another file. */
  const says = (startedAt: number, ...reloads: readonly string[]): void => {
    host.standIn(
      'kubectl',
      ['cat <<END', `process_start_time_seconds ${startedAt.toExponential()}`, ...reloads, 'END'].join('\n'),
    );
  };
  const seconds = (offset: number): number => Date.now() / 1_000 + offset;

  it('is another file, once the API server at the own address of the node has taken it', async () => {
    host.write(FILE, former);
    says(seconds(-600), `${READ}{apiserver_id_hash="sha256:ab",status="success"} ${seconds(60).toExponential()}`);
    expect(await host.run(step)).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.read(FILE)).toBe(content);
    expect(host.calls('kubectl')[0]).toMatch(/--server https:\/\/198\.18\.7\.11:6443 .* get --raw \/metrics$/);
    expect(await host.run(step)).toMatchObject({ code: 0, result: { changed: false } });
  });

  it('is what an API server that was started since has read', async () => {
    host.write(FILE, content);
    says(seconds(60));
    expect(await host.run(step)).toMatchObject({ code: 0, result: { changed: false } });
  });

  it('has not changed while the API server refuses the file, or has read only the one before', async () => {
    host.write(FILE, former);
    const impatient = step.replace('-lt 150', '-lt 2');
    says(
      seconds(-600),
      `${READ}{apiserver_id_hash="sha256:ab",status="failure"} ${seconds(60).toExponential()}`,
      `${READ}{apiserver_id_hash="sha256:ab",status="success"} ${seconds(-60).toExponential()}`,
    );
    const { code, stderr } = await host.run(impatient);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/it must reach the issuer and trust its certificate/)]);
    host.standIn('kubectl', 'echo "connection refused" >&2; exit 1');
    expect((await host.run(impatient)).code).toBe(1);
    expect(host.read('/var/log/fairlead/authentication.log')).toContain('connection refused');
  });

  it('cannot change where the API server was started without the file', async () => {
    const { code, stderr } = await host.run(step);
    expect([code, stderr]).toEqual([1, expect.stringContaining('was started without a file')]);
    expect(host.read(FILE)).toBeUndefined();
  });
});

describe('joins', () => {
  const worker = renderStep('kubeadm-join-worker', {
    uid: UID,
    cluster: CLUSTER,
    node: WORKER,
    credentials: CREDENTIALS,
  });
  const kubeadm =
    '[ "$1" = join ] || exit 0\nmkdir -p "$root/etc/kubernetes"; echo k >"$root/etc/kubernetes/kubelet.conf"\n' +
    'cp "$root/run/fairlead/kubeadm-join.yaml" "$root/seen.yaml"; env >"$root/environment"';
  const LEFT = [
    '/run/fairlead/kubeadm-join.yaml',
    '/run/fairlead/kubeadm-join.yaml.new',
    '/etc/fairlead/kubeadm-join.yaml',
  ];
  const left = () => LEFT.filter((path) => host.read(path) !== undefined);

  it('once, with the credentials nowhere on the host afterwards', async () => {
    host.standIn('kubeadm', kubeadm);
    expect(await host.run(worker.script)).toMatchObject({ code: 0, result: { changed: true } });
    expect(await host.run(worker.script)).toMatchObject({ code: 0, result: { changed: false } });
    expect(host.calls('kubeadm')).toHaveLength(1);
    expect(host.read('/seen.yaml')).toContain(CREDENTIALS.token);
    expect(left()).toEqual([]);
  });

  it('leave no token for a reader of the disk where kubeadm fails, or where an earlier step was killed', async () => {
    host.standIn('kubeadm', `${kubeadm}; exit 1`).write('/etc/fairlead/kubeadm-join.yaml', 'token: of before');
    expect((await host.run(worker.script)).code).toBe(1);
    expect(host.read('/seen.yaml')).toContain(CREDENTIALS.token);
    expect(left()).toEqual([]);
    const [secret = ''] = CREDENTIALS.token.split('.').slice(1);
    const { stdout } = spawnSync('grep', ['-rlF', secret, host.root], { encoding: 'utf8' });
    expect(stdout.split('\n').filter((file) => file !== '' && !file.endsWith('/seen.yaml'))).toEqual([]);
  });

  it('show their token to no reader of arguments and environments', async () => {
    host.standIn('kubeadm', kubeadm);
    await host.run(worker.script);
    expect(host.read('/environment')).toContain('PATH=');
    expect(host.read('/environment')).not.toContain(CREDENTIALS.token);
    expect(host.calls('kubeadm').join('\n')).not.toContain(CREDENTIALS.token);
  });

  it('a host that is a node of something else is refused', async () => {
    host.standIn('kubeadm', kubeadm).write('/etc/kubernetes/kubelet.conf', 'of another cluster');
    expect(await host.run(worker.script)).toMatchObject({ code: 1, stderr: expect.stringContaining('refusing') });
    expect(host.calls('kubeadm')).toEqual([]);
  });

  it('an interrupted one is cleaned and begun again', async () => {
    host.standIn('kubeadm', `${kubeadm}\n[ -e "$root/well" ] || { touch "$root/well"; exit 1; }`);
    expect((await host.run(worker.script)).code).toBe(1);
    expect(await host.run(worker.script)).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.calls('kubeadm').map((call) => call.split(' ')[1])).toEqual(['join', 'reset', 'join']);
  });
});

describe('the join of a control plane that was interrupted', () => {
  const join = (afterInterruption: boolean): string =>
    renderStep('kubeadm-join-control-plane', {
      uid: UID,
      cluster: CLUSTER,
      node: CONTROL_PLANE,
      credentials: CREDENTIALS,
      afterInterruption,
    }).script;
  const calls = (): readonly (string | undefined)[] => host.calls('kubeadm').map((call) => call.split(' ')[1]);

  it('is left as it is until its member has left etcd, then cleaned and begun again', async () => {
    host.standIn(
      'kubeadm',
      `[ "$1" = join ] || exit 0
[ -e "$root/well" ] || { touch "$root/well"; mkdir -p "$root/var/lib/etcd/member"; exit 1; }
mkdir -p "$root/etc/kubernetes"; echo k >"$root/etc/kubernetes/kubelet.conf"`,
    );
    expect((await host.run(join(false))).code).toBe(1);
    expect((await host.run(join(false))).result).toEqual({ changed: false, interrupted: true });
    expect(calls()).toEqual(['join']);
    expect((await host.run(join(true))).result).toEqual({ changed: true, interrupted: false });
    expect(calls()).toEqual(['join', 'reset', 'join']);
    expect(host.read('/var/lib/etcd/member')).toBeUndefined();
    expect((await host.run(join(false))).result).toEqual({ changed: false, interrupted: false });
    expect((await host.run(join(true))).result).toEqual({ changed: false, interrupted: false });
  });
});

describe('credentials', () => {
  const text = renderStep('credentials', {
    cluster: CLUSTER,
    address: CONTROL_PLANE.address,
    tokenTtlSeconds: 1800,
    certificates: true,
  }).script;
  const key = 'cd'.repeat(32);

  it('are found among what kubeadm says beside them [CB-Ladybug 16]', async () => {
    host.standIn(
      'kubeadm',
      `case "$1" in token) echo "W1121 a warning" >&2; echo abcdef.0123456789abcdef;;
       init) echo "[upload-certs] Storing the certificates in Secret"; echo "[upload-certs] Using certificate key:"; echo ${key};; esac`,
    );
    const { result } = await host.run(text);
    expect(result).toEqual({ token: 'abcdef.0123456789abcdef', certificateKey: key });
    expect(host.calls('kubeadm')[0]).toBe('kubeadm token create --ttl 1800s --description Fairlead join');
    expect(host.read('/run/fairlead/credentials.said')).toBeUndefined();
  });

  it('that were half made are not left on the host for a reader of the disk', async () => {
    host.standIn('kubeadm', 'case "$1" in token) echo abcdef.0123456789abcdef;; *) exit 1;; esac');
    expect((await host.run(text)).code).toBe(1);
    const { stdout } = spawnSync('grep', ['-rlF', '0123456789abcdef', host.root], { encoding: 'utf8' });
    expect(stdout.split('\n').filter((file) => file !== '' && !file.includes('/stand-ins/'))).toEqual([]);
    expect(host.read('/etc/fairlead/upload-certs.yaml')).toBeUndefined();
  });

  it('that kubeadm does not print are a failure, not an empty answer', async () => {
    host.standIn('kubeadm', 'echo nothing of use');
    expect(await host.run(text)).toMatchObject({ code: 1, stderr: 'kubeadm token create printed no token' });
  });
});

describe('the etcd member of a control plane', () => {
  const text = renderStep('etcd-remove-member', {
    member: 'cp-3',
    address: '10.0.0.3',
    self: 'cp-1',
    external: false,
  }).script;
  const member = (id: number): string =>
    `${id}a, started, cp-${id}, https://10.0.0.${id}:2380, https://10.0.0.${id}:2379, false`;
  const etcdctl = (members: readonly number[], healthy: readonly number[]): string => `
for word in "$@"; do last="$word"; done
case " $* " in
  *" member list "*) printf '%s\\n' ${members.map((id) => `'${member(id)}'`).join(' ')};;
  *" endpoint health "*) printf '%s\\n' ${healthy.map((id) => `'https://10.0.0.${id}:2379 is healthy: committed'`).join(' ')}
     ${members.length === healthy.length ? '' : 'exit 1'};;
esac`;
  const removed = (): readonly string[] => host.calls('etcdctl').filter((call) => call.includes('member remove'));

  it('is removed from a survivor [CB-Ladybug 31]', async () => {
    host.standIn('etcdctl', etcdctl([1, 2, 3], [1, 2, 3]));
    expect((await host.run(text)).result).toEqual({ changed: true, members: 2 });
    expect(removed()).toEqual([expect.stringMatching(/member remove 3a$/)]);
  });

  it('that is dead itself may go while the others are a majority of what is left', async () => {
    host.standIn('etcdctl', etcdctl([1, 2, 3], [1, 2]));
    expect((await host.run(text)).result).toEqual({ changed: true, members: 2 });
  });

  it('stays when the healthy ones that are left would be no majority', async () => {
    host.standIn('etcdctl', etcdctl([1, 2, 3], [1, 3]));
    const { code, stderr } = await host.run(text);
    expect([code, stderr]).toEqual([1, 'removing etcd member cp-3 would leave 1 healthy of 2, and 2 are needed']);
    expect(removed()).toEqual([]);
  });

  it('that has no name yet, because its join was interrupted, is known by its address', async () => {
    const unstarted = "'3a, unstarted, , https://10.0.0.3:2380, , true'";
    host.standIn('etcdctl', etcdctl([1], [1]).replace("printf '%s\\n' ", `printf '%s\\n' ${unstarted} `));
    expect((await host.run(text)).result).toEqual({ changed: true, members: 1 });
    expect(removed()).toEqual([expect.stringMatching(/member remove 3a$/)]);
  });

  it('that etcd does not know needs no removal', async () => {
    host.standIn('etcdctl', etcdctl([1, 2], [1, 2]));
    expect((await host.run(text)).result).toEqual({ changed: false, members: 2 });
  });
});

describe('prepare', () => {
  const program = '// the agent\n';
  const sha256 = createHash('sha256').update(program).digest('hex');
  const text = (interval = 10_000, restart = false): string =>
    renderStep('prepare', {
      agent: { sha256, version: '0.1.0' },
      config: { ...AGENT_CONFIG, heartbeatIntervalMs: interval },
      credentials: NATS_CREDENTIALS,
      nodeBinary: process.execPath,
      ownNode: null,
      bundle: null,
      restart,
    }).script;
  const restarts = (): number => host.calls('systemctl').filter((call) => call.includes('restart')).length;

  /** An agent that reaches NATS when it is started. */
  const connects =
    'if [ "$1" = restart ]; then mkdir -p "$root/var/lib/fairlead"; : >"$root/var/lib/fairlead/agent.connected"; fi';

  beforeEach(() => {
    host.standIn('systemctl', connects);
  });

  const bring = (content = program): TestHost => host.write('/opt/fairlead/agent.next.mjs', content);

  it('asks for the bundle where it is missing or another one [CB-Ladybug 13]', async () => {
    expect((await host.run(text())).result).toEqual({ agent: 'missing', node: 'present', bundle: 'present' });
    bring('half a bundle');
    expect((await host.run(text())).result).toEqual({ agent: 'missing', node: 'present', bundle: 'present' });
    expect(restarts()).toBe(0);
  });

  it('starts the agent with its configuration and credentials, readable for root only [CB-Ladybug 13]', async () => {
    bring();
    expect((await host.run(text())).result).toEqual({ agent: 'started', node: 'present', bundle: 'present' });
    expect(JSON.parse(host.read('/etc/fairlead/agent.json') ?? '')).toEqual(AGENT_CONFIG);
    expect(host.read('/etc/fairlead/nats.creds')).toBe(NATS_CREDENTIALS);
    const mode = spawnSync('stat', ['-c', '%a', join(host.root, 'etc/fairlead/nats.creds')], { encoding: 'utf8' });
    expect(mode.stdout.trim()).toBe('600');
  });

  it('leaves a running agent alone, and restarts it for a new configuration', async () => {
    bring();
    await host.run(text());
    await host.run(text());
    expect(restarts()).toBe(1);
    await host.run(text(5_000));
    expect(restarts()).toBe(2);
  });

  it('restarts a running agent for new credentials alone where that is asked for', async () => {
    bring();
    await host.run(text());
    expect((await host.run(text(AGENT_CONFIG.heartbeatIntervalMs, true))).result).toMatchObject({ agent: 'started' });
    expect(restarts()).toBe(2);
    await host.run(text());
    expect(restarts()).toBe(2);
  });

  it('fails within a minute, with the error of the agent, when it does not reach NATS, and starts it again the next time', async () => {
    const words = 'nats://127.0.0.1:4222 cannot be reached from this host: connection refused';
    const deaf = `if (process.argv[2] === '--check') console.log(${JSON.stringify(words)});\n`;
    bring(deaf);
    host.standIn('systemctl', 'exit 0').standIn('sleep', 'exit 0');
    const script = text().replaceAll(sha256, createHash('sha256').update(deaf).digest('hex'));
    const { code, stderr } = await host.run(script);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `the agent has not reached NATS within 30 seconds: ${words}`,
    });
    host.standIn('systemctl', connects);
    expect((await host.run(script)).result).toMatchObject({ agent: 'started' });
    expect(restarts()).toBe(2);
  });

  describe('where another agent runs', () => {
    const guard = (): void => {
      const { root } = host;
      spawnSync('/bin/sh', [join(root, 'opt/fairlead/agent-guard')], { env: { ...process.env, FAIRLEAD_ROOT: root } });
    };

    beforeEach(async () => {
      bring();
      await host.run(text());
      bring('// newer\n');
    });
    const newer = (): string => text().replaceAll(sha256, createHash('sha256').update('// newer\n').digest('hex'));

    it('takes the new one for good once it says that it works', async () => {
      host.standIn('systemctl', `${connects}; rm -f "$root/var/lib/fairlead/agent.trial"`);
      expect((await host.run(newer())).result).toEqual({ agent: 'started', node: 'present', bundle: 'present' });
      expect(host.read('/opt/fairlead/agent.mjs')).toBe('// newer\n');
    });

    it('puts the one before back, with its configuration, when the new one is started again and again', async () => {
      const before = host.read('/etc/fairlead/agent.json');
      const startTwice = 'sh "$root/opt/fairlead/agent-guard"; sh "$root/opt/fairlead/agent-guard"';
      host.standIn('systemctl', `if [ "$1" = restart ]; then ${startTwice}; ${startTwice}; fi`);
      const { code, stderr } = await host.run(
        newer().replace('"heartbeatIntervalMs": 10000', '"heartbeatIntervalMs": 7'),
      );
      expect([code, stderr]).toEqual([1, 'the new agent did not come up, and the one before was put back']);
      expect(host.read('/opt/fairlead/agent.mjs')).toBe(program);
      expect(host.read('/etc/fairlead/agent.json')).toBe(before);
      guard();
      expect(host.read('/opt/fairlead/agent.mjs')).toBe(program);
    });
  });

  it('unpacks a bundle once, whole or not at all', async () => {
    const source = newFolder('bundle');
    writeFileSync(join(source, 'catalogue.json'), '{}');
    const archive = spawnSync('tar', ['-C', source, '-czf', '-', 'catalogue.json']).stdout;
    rmSync(source, { recursive: true });
    const digest = createHash('sha256').update(archive).digest('hex');
    const withBundle = renderStep('prepare', {
      agent: { sha256, version: '0.1.0' },
      config: AGENT_CONFIG,
      credentials: null,
      nodeBinary: process.execPath,
      ownNode: null,
      bundle: { sha256: digest },
    }).script;
    bring();
    expect((await host.run(withBundle)).result).toEqual({ agent: 'missing', node: 'present', bundle: 'missing' });
    writeFileSync(join(host.root, 'var/lib/fairlead/bundle.tar.gz'), archive.subarray(0, 20));
    expect((await host.run(withBundle)).result).toMatchObject({ bundle: 'missing' });
    writeFileSync(join(host.root, 'var/lib/fairlead/bundle.tar.gz'), archive);
    expect((await host.run(withBundle)).result).toMatchObject({ agent: 'started', bundle: 'present' });
    expect(host.read('/var/lib/fairlead/mirror/catalogue.json')).toBe('{}');
    expect(existsSync(join(host.root, 'var/lib/fairlead/bundle.tar.gz'))).toBe(false);
    expect((await host.run(withBundle)).result).toMatchObject({ agent: 'started', bundle: 'present' });
  });

  describe('where the host has no Node', () => {
    const archive = gzipSync('#!/bin/sh\necho v20.20.2\n');
    const own = {
      sha256: createHash('sha256').update('#!/bin/sh\necho v20.20.2\n').digest('hex'),
      machine: spawnSync('uname', ['-m'], { encoding: 'utf8' }).stdout.trim(),
      version: 'v20.20.2',
    };
    const without = (over: Partial<typeof own> = {}): string =>
      renderStep('prepare', {
        agent: { sha256, version: '0.1.0' },
        config: AGENT_CONFIG,
        credentials: null,
        nodeBinary: '/bin/sh',
        ownNode: { ...own, ...over },
        bundle: null,
      }).script;
    const deliver = (content: Buffer): void => writeFileSync(join(host.root, 'opt/fairlead/node.gz'), content);

    it('asks for ours, unpacks it, and starts the agent with it', async () => {
      bring();
      expect((await host.run(without())).result).toEqual({ agent: 'missing', node: 'missing', bundle: 'present' });
      deliver(archive);
      expect((await host.run(without())).result).toEqual({ agent: 'started', node: 'present', bundle: 'present' });
      expect(existsSync(join(host.root, 'opt/fairlead/node.gz'))).toBe(false);
      expect((await host.run(without())).result).toEqual({ agent: 'started', node: 'present', bundle: 'present' });
    });

    it('says so when ours is for another machine', async () => {
      const { stderr } = await host.run(without({ machine: 'aarch64' }));
      expect(stderr).toContain('is for aarch64, not for');
    });

    it('says so when ours does not run there', async () => {
      const broken = '#!/nonexistent/ld-musl\n';
      bring();
      await host.run(without());
      deliver(gzipSync(broken));
      const sha256OfBroken = createHash('sha256').update(broken).digest('hex');
      const { stderr } = await host.run(without({ sha256: sha256OfBroken }));
      expect(stderr).toContain('does not run on this host (another C library?)');
    });
  });
});

describe('verify', () => {
  const text = renderStep('verify', {
    controlPlane: true,
    address: CONTROL_PLANE.address,
    kubernetesVersion: 'v1.34.4',
    failSwapOn: true,
  }).script;

  it.each([
    'v1.34.4$(touch "$root/executed")',
    'v1.34.4`touch "$root/executed"`',
    `v1.34.4'; touch "$root/executed"; '`,
  ])('executes nothing of a version: %s', async (kubernetesVersion) => {
    const input = { controlPlane: true, address: CONTROL_PLANE.address, kubernetesVersion, failSwapOn: true };
    expect((await host.run(renderStep('verify', input).script)).code).toBe(0);
    expect(host.read('/executed')).toBeUndefined();
  });

  it('finds nothing wrong with a host that has what kubeadm needs', async () => {
    host
      .standIn('kubeadm', 'echo v1.34.4')
      .standIn('kubelet', 'echo "Kubernetes v1.34.4"')
      .standIn('systemctl', 'exit 0');
    expect((await host.run(text)).result).toEqual({ problems: [] });
  });

  it('names everything that is wrong at once [ORBITER 6]', async () => {
    host
      .standIn('kubeadm', 'echo v1.33.13')
      .standIn('kubelet', 'exit 127')
      .standIn('systemctl', 'exit 3')
      .standIn('ss', 'echo "LISTEN 0 128 0.0.0.0:6443 0.0.0.0:*"; echo "LISTEN 0 128 10.1.1.1:10250 0.0.0.0:*"')
      .write('/proc/swaps', 'Filename Type\n/swapfile file\n')
      .write('/proc/sys/net/ipv4/ip_forward', '0\n');
    expect((await host.run(text)).result).toEqual({
      problems: [
        'kubeadm is v1.33.13, not v1.34.4',
        'kubelet is missing, not v1.34.4',
        'the container runtime does not listen at /run/containerd/containerd.sock',
        'swap is on',
        'net.ipv4.ip_forward is not 1',
        'port 6443 is in use',
      ],
    });
  });
});

describe('every unit', () => {
  const units = readdirSync(GOLDEN).filter((name) => name.endsWith('.service.golden'));
  /** What says something about this machine, and not about the unit: programs that only a host has, words that only a newer systemd knows. */
  const OF_THIS_MACHINE = /is not executable: No such file|Unknown key '(RestartSteps|RestartMaxDelaySec)'/;

  const faultsOf = (name: string, text: string): readonly string[] => {
    const { root } = host.write(`/${name}`, text);
    const { lines } = check('systemd-analyze', ['verify', '--man=no', '--recursive-errors=no', join(root, name)]);
    return lines.filter((line) => line.includes(name) && !OF_THIS_MACHINE.test(line));
  };

  itWith('systemd-analyze').each(units)('is understood by systemd: %s', (golden) => {
    const name = golden.replace('.golden', '');
    const text = readFileSync(join(GOLDEN, golden), 'utf8');
    expect(faultsOf(name, text)).toEqual([]);
    expect(faultsOf(name, text.replace('Restart=always', 'Restart=sometimes'))).toHaveLength(1);
  });
});

describe('kubeadm reset', () => {
  const text = renderStep('kubeadm-reset', { removeAgent: true, of: UID }).script;

  it('makes the host one that never was a node; a second time there is nothing to do', async () => {
    const gone = [
      '/etc/fairlead/nats.creds',
      '/etc/fairlead/balancer/keepalived.conf',
      '/etc/systemd/system/fairlead-haproxy.service',
      '/etc/kubernetes/pki/ca.key',
      '/etc/cni/net.d/10-flannel.conflist',
      '/opt/fairlead/agent.mjs',
      '/var/lib/kubelet/config.yaml',
      '/var/lib/etcd/member/wal',
      '/var/lib/fairlead/agent-state.json',
      `/var/lib/fairlead/kubeadm-join.${UID}.finished`,
    ];
    host.standIn('kubeadm', 'rm -f "$root/etc/kubernetes/kubelet.conf"').standIn('systemctl', 'exit 0');
    for (const path of [...gone, '/etc/kubernetes/kubelet.conf', '/etc/systemd/system/fairlead-agent.service'])
      host.write(path, 'something');
    host
      .write('/etc/hosts', '127.0.0.1\tlocalhost\n127.0.1.1 demo-w-1 # fairlead\n')
      .write('/opt/fairlead/mirror/file', 'm');
    expect((await host.run(text)).result).toEqual({ changed: true, left: [] });
    for (const path of gone) expect([path, host.read(path)]).toEqual([path, undefined]);
    expect([host.read('/etc/hosts'), host.read('/opt/fairlead/mirror/file')]).toEqual(['127.0.0.1\tlocalhost\n', 'm']);
    expect((await host.run(text)).result).toEqual({ changed: false, left: [] });
    expect(host.calls('kubeadm')).toEqual([
      'kubeadm reset --force --skip-phases=remove-etcd-member --cri-socket unix:///run/containerd/containerd.sock',
    ]);
  });

  it('takes away what Cilium keeps in memory, and leaves the maps of others', async () => {
    const gone = [
      '/run/cilium/state/health',
      '/run/cilium/hubble.sock.pid',
      '/sys/fs/bpf/cilium/devices/host0/links/cil_from_netdev',
      '/sys/fs/bpf/cilium/socketlb/links/cgroup/cil_sock4_connect',
      '/sys/fs/bpf/tc/globals/cilium_lxc',
    ];
    for (const path of gone) host.write(path, 'pinned');
    host.standIn('systemctl', 'exit 0').write('/sys/fs/bpf/tc/globals/of_somebody', 'pinned');
    expect((await host.run(text)).result).toMatchObject({ left: [] });
    for (const path of gone) expect([path, host.read(path)]).toEqual([path, undefined]);
    expect([existsSync(join(host.root, 'run/cilium')), existsSync(join(host.root, 'sys/fs/bpf/cilium'))]).toEqual([
      false,
      false,
    ]);
    expect(host.read('/sys/fs/bpf/tc/globals/of_somebody')).toBe('pinned');
  });

  it('says that it could not take away what Cilium keeps', async () => {
    host
      .standIn('systemctl', 'exit 0')
      .standIn('rm', 'case "$*" in *bpf/cilium*) exit 1;; esac; exec /bin/rm "$@"')
      .write('/sys/fs/bpf/cilium/devices/host0', 'pinned');
    expect((await host.run(text)).result).toMatchObject({ left: ['there are files in /sys/fs/bpf/cilium'] });
  });

  it('leaves a host alone that belongs to another cluster by now', async () => {
    const config = (uid: string): string => JSON.stringify({ uid }, null, 2);
    host
      .standIn('systemctl', 'exit 0')
      .write('/etc/fairlead/agent.json', config('another'))
      .write('/etc/kubernetes/pki/ca.key', 'k');
    expect(await host.run(text)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('belongs to another cluster'),
    });
    expect(host.read('/etc/kubernetes/pki/ca.key')).toBe('k');
    host.write('/etc/fairlead/agent.json', config(UID));
    expect((await host.run(text)).result).toMatchObject({ left: [] });
    expect(host.read('/etc/kubernetes/pki/ca.key')).toBeUndefined();
  });

  it('goes on where kubeadm fails, and says what is left instead of calling the host clean', async () => {
    host
      .standIn('kubeadm', 'echo no >&2; exit 1')
      .standIn('systemctl', 'exit 0')
      .standIn('rm', 'case "$*" in *etcd*) exit 1;; esac; exec /bin/rm "$@"')
      .write('/etc/kubernetes/kubelet.conf', 'k')
      .write('/var/lib/etcd/member/wal', 'w');
    expect((await host.run(text)).result).toEqual({ changed: true, left: ['there are files in /var/lib/etcd'] });
    expect(host.read('/etc/kubernetes/kubelet.conf')).toBeUndefined();
  });
});

describe('the look at a host', () => {
  const text = renderStep('look', {}).script;

  it('reports its size, and no problem of a host that is free', async () => {
    host.standIn('systemctl', 'exit 0').standIn('id', 'echo 0');
    const { result } = await host.run(text);
    expect(result).toEqual({
      cpus: expect.any(Number),
      memoryMiB: expect.any(Number),
      problems: [],
      baseline: expect.any(Object),
    });
    expect((result as { memoryMiB: number }).memoryMiB).toBeGreaterThan(100);
  });

  it('finds a host that is a node of someone', async () => {
    host.standIn('systemctl', 'exit 0').standIn('id', 'echo 0').write('/etc/kubernetes/kubelet.conf', 'k');
    expect((await host.run(text)).result).toMatchObject({
      problems: ['it is a Kubernetes node already (/etc/kubernetes/kubelet.conf exists)'],
    });
  });
});

describe("an operator's command", () => {
  const ran = async (command: readonly string[], { timeoutSeconds = 30, outputBytes = 1_000 } = {}) => {
    const { result } = await host.run(renderStep('node-exec', { command, timeoutSeconds, outputBytes }).script);
    const { stdout, stderr, ...others } = result as {
      readonly exitCode: number;
      readonly stdout: string;
      readonly stderr: string;
    };
    const text = (base64: string): string => Buffer.from(base64, 'base64').toString('utf8');
    return { ...others, stdout: text(stdout), stderr: text(stderr) };
  };

  it('gets its words as they are, and its exit code and both outputs come back apart', async () => {
    const odd = `a 'b' "c" $HOME \\ ; *`;
    expect(await ran(['printf', '%s|', odd, ''])).toMatchObject({ exitCode: 0, stdout: `${odd}||`, stderr: '' });
    const both = await ran(['sh', '-c', 'echo out; echo err >&2; exit 7']);
    expect(both).toEqual({ exitCode: 7, stdout: 'out\n', stderr: 'err\n', stdoutBytes: 4, stderrBytes: 4 });
    expect((await ran(['there-is-no-such-program'])).exitCode).toBe(127);
  });

  it('goes on when it prints more than is kept, and is ended by its time limit', async () => {
    const long = await ran(['sh', '-c', 'head -c 100000 /dev/zero | tr "\\0" x; exit 3'], { outputBytes: 10 });
    expect(long).toMatchObject({ exitCode: 3, stdout: 'xxxxxxxxxx', stdoutBytes: 100_000 });
    expect((await ran(['sleep', '30'], { timeoutSeconds: 1 })).exitCode).toBe(124);
  });
});

describe('a log that is followed', () => {
  const JOURNAL = `case "$*" in
*--after-cursor*i=9*) echo '-- cursor: s=1;i=9' ;;
*--after-cursor*) cat "$root/new"; echo '-- cursor: s=1;i=9' ;;
*--since*) seq 1 9; echo '-- cursor: s=1;i=7' ;;
*) echo 'an old line'; echo '-- cursor: s=1;i=7' ;;
esac`;
  const read = async (more: Partial<NodeLogInput> = {}) => {
    const input = { unit: 'kubelet', after: null, lines: 3, sinceSeconds: null, bytes: 20, waitSeconds: 1 } as const;
    const { result, stderr } = await host.run(renderStep('node-log', { ...input, ...more }).script);
    const { text = '', ...others } = (result ?? {}) as { readonly text?: string; readonly position?: object };
    return { text: Buffer.from(text, 'base64').toString('utf8'), stderr, ...others };
  };
  const after = (cursor: string | null) => ({ cursor, time: 5 });

  it('begins with its last lines, and continues after them', async () => {
    host.standIn('journalctl', JOURNAL).write('/new', 'one\ntwo\n');
    expect(await read()).toMatchObject({ text: 'an old line\n', skipped: 0, position: { cursor: 's=1;i=7' } });
    expect(await read({ sinceSeconds: 60 })).toMatchObject({ text: '7\n8\n9\n' });
    const next = await read({ after: after('s=1;i=7') });
    expect(next).toMatchObject({ text: 'one\ntwo\n', skipped: 0, position: { cursor: 's=1;i=9' } });
    expect(host.calls('journalctl').at(-1)).toContain('--unit kubelet --show-cursor --after-cursor s=1;i=7');
  });

  it('brings no more than fits, whole lines, and counts the others', async () => {
    host.standIn('journalctl', JOURNAL).write('/new', `first\n${'x'.repeat(30)}\nlast\n`);
    expect(await read({ after: after('s=1;i=7') })).toMatchObject({ text: 'first\n', skipped: 2 });
  });

  it('waits a while for a new line, and then says that there is none', async () => {
    host.standIn('journalctl', JOURNAL);
    expect(await read({ after: after('s=1;i=9') })).toMatchObject({ text: '', position: { cursor: 's=1;i=9' } });
    expect(host.calls('journalctl')).toHaveLength(2);
  });

  it('of which nothing was there is read by time, and one that cannot be read fails with the words of journalctl', async () => {
    host.standIn('journalctl', 'exit 0');
    expect(await read({ after: after(null) })).toMatchObject({ text: '', position: { cursor: null } });
    expect(host.calls('journalctl').at(-1)).toContain('--since @5');
    host.standIn('journalctl', 'echo "No journal files were opened" >&2; exit 1');
    expect((await read()).stderr).toBe('journalctl failed: No journal files were opened');
  });
});

describe('the balanced API address', () => {
  const stepOf = (peers: typeof PEERS | readonly (typeof PEERS)[number][], initialises = false): string =>
    renderStep('balance-api', {
      uid: UID,
      endpoint: { host: SHARED.address, port: 9998 },
      routerId: SHARED.routerId,
      password: SHARED.password,
      self: PEERS[0],
      peers,
      initialises,
    }).script;
  const addresses = `echo '2: host0    inet ${PEERS[0].address}/24 scope global host0'`;

  beforeEach(() => {
    host
      .standIn('ip', addresses)
      .standIn('haproxy', 'exit 0')
      .standIn('keepalived', 'exit 0')
      .standIn(
        'systemctl',
        'case "$1" in is-active) [ -e "$root/run/$3" ];; enable) touch "$root/run/$3";; *) exit 0;; esac',
      );
  });

  it('is set up once, on the interface that has the own address', async () => {
    expect((await host.run(stepOf(PEERS))).result).toEqual({ changed: true });
    expect(host.read('/etc/fairlead/balancer/keepalived.conf')).toMatch(/interface host0\n[^@]*\/32 dev host0/);
    expect((await host.run(stepOf(PEERS))).result).toEqual({ changed: false });
    expect(host.calls('systemctl').filter((call) => /enable|reload /.test(call))).toEqual([
      'systemctl enable --now fairlead-haproxy.service',
      'systemctl enable --now fairlead-keepalived.service',
    ]);
  });

  it('goes over to other control planes by a reload, which loses no connection', async () => {
    await host.run(stepOf(PEERS));
    expect((await host.run(stepOf(PEERS.slice(0, 2)))).result).toEqual({ changed: true });
    expect(host.read('/etc/fairlead/balancer/haproxy.cfg')).not.toContain(PEERS[2].name);
    expect(host.calls('systemctl').filter((call) => /restart|reload /.test(call))).toEqual([
      'systemctl reload fairlead-haproxy.service',
      'systemctl reload fairlead-keepalived.service',
    ]);
  });

  it('needs an interface with the own address, and says so', async () => {
    host.standIn('ip', 'true');
    const { code, stderr } = await host.run(stepOf(PEERS));
    expect([code, stderr]).toEqual([1, 'no interface of this host has the address 198.18.7.11']);
  });

  itWith('haproxy', '-v').each(['haproxy.cfg', 'haproxy.ipv6.cfg'])('is understood by haproxy: %s', (name) => {
    // Its own user need not be on this machine.
    const text = readFileSync(join(GOLDEN, `${name}.golden`), 'utf8').replaceAll(/^ {2}(user|group) haproxy\n/gm, '');
    const { root } = host.write('/haproxy.cfg', text);
    const { code, lines } = check('haproxy', ['-c', '-f', join(root, 'haproxy.cfg')]);
    expect([code, lines.filter((line) => !/NOTICE|Configuration file is valid/.test(line))]).toEqual([0, []]);
  });

  const device = Object.keys(networkInterfaces()).find((name) => name !== 'lo') ?? 'lo';
  itWith('keepalived')('is understood by keepalived', () => {
    const text = readFileSync(join(GOLDEN, 'keepalived.conf.golden'), 'utf8').replaceAll('@interface@', device);
    const { root } = host.write('/keepalived.conf', text);
    const { lines } = check('keepalived', ['--config-test', '--use-file', join(root, 'keepalived.conf')]);
    // The script that it tracks is no file of this machine.
    expect(lines.filter((line) => !/check\.sh|reaches_an_api_server/.test(line))).toEqual([]);
  });

  it.each(['balancer-check.bash', 'balancer-check.leader.bash'])('is understood by bash: %s', (name) => {
    const { status, stderr } = spawnSync('bash', ['-n', join(GOLDEN, `${name}.golden`)], { encoding: 'utf8' });
    expect([status, stderr]).toEqual([0, '']);
  });
});

describe('a step that is killed', () => {
  /** `kubeadm` kills the shell of the step, which has no last word then. */
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
    'in kubeadm %s leaves nothing of its parameters, and the next step what kubeadm was given',
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

  it('before it began is removed by the next one, once it is sure that it does not begin', async () => {
    const steps = '/var/lib/fairlead/steps';
    host.write(`${steps}/kubeadm-join-worker-1.json`, CREDENTIALS.token).write(`${steps}/verify-2.json`, '{}');
    const minutesAgo = Date.now() / 1_000 - 6 * 60;
    utimesSync(`${host.root}${steps}/kubeadm-join-worker-1.json`, minutesAgo, minutesAgo);
    expect((await host.run(look)).code).toBe(0);
    expect(left()).toEqual(['var/lib/fairlead/steps/verify-2.json']);
  });

  it('takes nothing from a control plane that is not ours', async () => {
    host.write('/etc/kubernetes/super-admin.conf', 'theirs');
    expect((await host.run(look)).code).toBe(0);
    expect(host.read('/etc/kubernetes/super-admin.conf')).toBe('theirs');
  });
});

it('the snapshot of a restore that has failed goes, with what an upload of it left that did not end', async () => {
  const snapshot = '/var/lib/fairlead/etcd-snapshot.db';
  host
    .write(snapshot, 'secret')
    .write(`${snapshot}.0123456789ab`, 'secr')
    .write('/var/lib/fairlead/agent-state.json', '{}');
  const { script: text } = renderStep('remove-snapshot', {});
  expect(await host.run(text)).toMatchObject({ code: 0, result: {} });
  expect((await host.run(text)).code).toBe(0);
  expect(filesOf(`${host.root}/var/lib/fairlead`)).toEqual(['agent-state.json']);
});

describe('the authorized keys of a host', () => {
  const KEYS = '/home/ops/.ssh/authorized_keys';
  const user = 'ops';
  const key = (letter: string): string => `ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI${letter.repeat(43)} fairlead@lab`;
  const change = (add: string | null, remove: readonly string[] = []) =>
    host.run(renderStep('authorized-keys', { user, add, remove }).script);

  beforeEach(() => {
    host.standIn('getent', 'echo "$2:x:1000:1000::/home/$2:/bin/sh"').standIn('chown', '');
  });

  it('get one more and lose one, and all other lines stay as they are, also without a line end and with options', async () => {
    const others = `# mine\nfrom="192.0.2.0/24" ${key('x')}\n${key('o')}`;
    host.write(KEYS, others);
    expect(await change(key('n'))).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.read(KEYS)).toBe(`${others}\n${key('n')}\n`);
    expect(await change(null, [key('o')])).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.read(KEYS)).toBe(`# mine\nfrom="192.0.2.0/24" ${key('x')}\n${key('n')}\n`);
  });

  it('are not changed again by a step that is repeated', async () => {
    host.write(KEYS, `${key('o')}\n`);
    await change(key('n'), [key('o')]);
    expect(await change(key('n'), [key('o')])).toMatchObject({ code: 0, result: { changed: false } });
    expect(host.read(KEYS)).toBe(`${key('n')}\n`);
  });

  it('are created for a user that has none; an unknown user is a failure', async () => {
    expect(await change(key('n'))).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.read(KEYS)).toBe(`${key('n')}\n`);
    host.standIn('getent', 'exit 2');
    expect(await change(key('n'))).toMatchObject({ code: 1, stderr: 'there is no user ops' });
  });

  it('lose a key whatever options and comment its line has, and hold none that is not a public key', async () => {
    host.write(KEYS, `no-pty ${key('o')} more words\n`);
    await change(null, [key('o')]);
    expect(host.read(KEYS)).toBe('');
    expect(() => renderStep('authorized-keys', { user, add: 'ssh-rsa x"\n$(id)', remove: [] })).toThrow('public key');
  });
});

describe('a further member of an external etcd', () => {
  const add = renderStep('etcd-add-member', { name: 'cp-4', address: '10.0.0.4' });
  const promote = renderStep('etcd-promote-member', { name: 'cp-4', address: '10.0.0.4' });
  const voter = '1a, started, cp-1, https://10.0.0.1:2380, https://10.0.0.1:2379, false';
  const announced = '4a, unstarted, , https://10.0.0.4:2380, , true';

  /** `list`: what `member list` prints before the member is added; the first additions and promotions are refused so often. */
  const etcdctl = (list: string, refusals = 0): void => {
    host.write('/list', `${list}\n`).write('/refusals', 'x'.repeat(refusals));
    host.write(
      '/opt/fairlead/etcd/etcdctl',
      `#!/bin/sh
echo "etcdctl $*" >>"$FAIRLEAD_ROOT/calls"
refused() {
  left=$(cat "$FAIRLEAD_ROOT/refusals")
  [ -n "$left" ] || return 1
  printf '%s' "\${left#x}" >"$FAIRLEAD_ROOT/refusals"
  echo "$1" >&2
}
case " $* " in
  *" member list "*) cat "$FAIRLEAD_ROOT/list";;
  *" member add "*) refused 'Error: etcdserver: unhealthy cluster' && exit 1; echo '${announced}' >>"$FAIRLEAD_ROOT/list";;
  *" member promote "*) refused 'Error: etcdserver: can only promote a learner member which is in sync with leader' && exit 1
    printf '%s\\n' '${voter}' '4a, started, cp-4, https://10.0.0.4:2380, https://10.0.0.4:2379, false' >"$FAIRLEAD_ROOT/list";;
esac
`,
    );
    chmodSync(join(host.root, 'opt/fairlead/etcd/etcdctl'), 0o755);
    host.standIn('sleep', '');
  };
  const calls = (verb: string): readonly string[] => host.calls('etcdctl').filter((call) => call.includes(verb));

  it('is announced as a learner, once, and gets all members, also itself', async () => {
    etcdctl(voter, 2);
    const members = [
      { name: 'cp-1', peerUrl: 'https://10.0.0.1:2380' },
      { name: 'cp-4', peerUrl: 'https://10.0.0.4:2380' },
    ];
    expect((await host.run(add.script)).result).toEqual({ changed: true, members });
    expect((await host.run(add.script)).result).toEqual({ changed: false, members });
    expect(add.result.safeParse({ changed: false, members }).success).toBe(true);
    expect(calls('member add')).toEqual(
      Array.from({ length: 3 }, () =>
        expect.stringMatching(/ member add cp-4 --learner --peer-urls=https:\/\/10\.0\.0\.4:2380$/),
      ),
    );
  });

  it('is not added where etcd goes on refusing, and not in the place of another one', async () => {
    etcdctl(voter, 99);
    expect(await host.run(add.script)).toMatchObject({
      code: 1,
      stderr: 'etcd did not add its member cp-4: Error: etcdserver: unhealthy cluster',
    });
    etcdctl(`${voter}\n9a, started, cp-9, https://10.0.0.4:2380, https://10.0.0.4:2379, false`);
    expect(await host.run(add.script)).toMatchObject({
      code: 1,
      stderr: 'etcd has a member cp-9 at https://10.0.0.4:2380 already',
    });
  });

  it('gets its vote once it has caught up', async () => {
    etcdctl(`${voter}\n${announced.replace('unstarted, ', 'started, cp-4')}`, 2);
    expect((await host.run(promote.script)).result).toEqual({ members: 2 });
    expect(calls('member promote')).toEqual(Array.from({ length: 3 }, () => expect.stringMatching(/promote 4a$/)));
    expect((await host.run(promote.script)).result).toEqual({ members: 2 });
    expect(calls('member promote')).toHaveLength(3);
  });

  it('says nothing to another host that is no name and no address of a member', () => {
    const said = (name: string, peerUrl: string) =>
      add.result.safeParse({
        changed: true,
        members: [
          { name, peerUrl },
          { name: 'cp-4', peerUrl: 'https://10.0.0.4:2380' },
        ],
      }).success;
    expect(said('cp-1', 'https://[fd00::1]:2380')).toBe(true);
    expect(said('cp-1\nExecStartPre=/bin/sh', 'https://10.0.0.1:2380')).toBe(false);
    expect(said('cp-1', 'https://10.0.0.1:2380,x=http://evil:2380')).toBe(false);
  });

  it('is the one that its API server uses, also where kubeadm was given all former members', async () => {
    const api = '/etc/kubernetes/manifests/kube-apiserver.yaml';
    const old = 'https://10.0.0.1:2379,https://10.0.0.2:2379';
    host
      .write('/opt/fairlead/etcd/image', 'registry.k8s.io/etcd:3.6.5-0')
      .write(api, `    - --advertise-address=10.0.0.4\n    - --etcd-servers=${old}\n    - --secure-port=6443\n`)
      .write(
        '/configuration',
        `etcd:\n  external:\n    caFile: c\n    endpoints:\n${old.replace(/^|,/g, '\n    - ').trimStart()}\n    keyFile: k\nkind: x\n`,
      )
      .standIn(
        'kubectl',
        `case " $* " in
  *" get configmap "*) cat "$FAIRLEAD_ROOT/configuration";;
  *" create configmap "*) for word in "$@"; do case "$word" in *=ClusterConfiguration=*) cat "\${word##*=}";; esac; done;;
  *" replace "*) for word in "$@"; do last="$word"; done; cp "$last" "$FAIRLEAD_ROOT/replaced";;
esac`,
      );
    expect((await host.run(renderStep('etcdctl', {}).script)).result).toEqual({ changed: true });
    expect(host.read(api)).toBe(
      '    - --advertise-address=10.0.0.4\n    - --etcd-servers=https://127.0.0.1:2379\n    - --secure-port=6443\n',
    );
    expect(host.read('/replaced')).toBe(
      'etcd:\n  external:\n    caFile: c\n    endpoints:\n    - https://127.0.0.1:2379\n    keyFile: k\nkind: x\n',
    );
    const before = host.calls('kubectl').length;
    await host.run(renderStep('etcdctl', {}).script);
    expect(host.calls('kubectl')).toHaveLength(before);
  });

  it('is reached over the Kubernetes API by a static pod of the image that it runs from', async () => {
    const text = renderStep('etcdctl', {}).script;
    expect(await host.run(text)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no member of an external etcd'),
    });
    host.write('/opt/fairlead/etcd/image', 'registry.k8s.io/etcd:3.6.5-0');
    expect((await host.run(text)).result).toEqual({ changed: true });
    const manifest = host.read('/etc/kubernetes/manifests/fairlead-etcdctl.yaml') ?? '';
    expect(manifest).toContain('image: registry.k8s.io/etcd:3.6.5-0\n');
    expect((await host.run(text)).result).toEqual({ changed: false });
  });
});
