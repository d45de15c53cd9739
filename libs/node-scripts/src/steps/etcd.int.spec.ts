import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { chmodSync, existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { TestHost } from './host.fixtures.js';
import { ETCD_MEMBER, UID } from './steps.fixtures.js';
import { renderStep } from './steps.js';

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

describe('a member of an external etcd', () => {
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

  it('is set up from the image, and a second run changes nothing, whatever the certificates', async () => {
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

  it('that was interrupted before its CA was written gets all of its certificates again', async () => {
    host.standIn('ctr', ctr).standIn('systemctl', systemctl).write('/etc/fairlead/etcd/server.crt', 'of another key');
    expect(await host.run(text)).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.read('/etc/fairlead/etcd/server.crt')).toBe('certificate of the server\n');
  });

  it('is restarted if the run that should have done it was cut off', async () => {
    host
      .standIn('ctr', ctr)
      .standIn('systemctl', `[ "$1" != restart ] || [ -e "$root/repaired" ] || exit 1\n${systemctl}`);
    host.write('/active', '');
    expect((await host.run(text)).code).toBe(1);
    host.write('/repaired', '');
    expect(await host.run(text)).toMatchObject({ code: 0, result: { changed: true } });
    expect(host.calls('systemctl').filter((call) => call.includes('restart'))).toHaveLength(2);
  });

  it('does not start with the data of another etcd, and continues with its own', async () => {
    host.standIn('ctr', ctr).standIn('systemctl', systemctl).write('/var/lib/etcd/member/wal/0.wal', 'of another');
    const { code, stderr } = await host.run(text);
    expect([code, stderr]).toEqual([1, expect.stringContaining('data of another etcd')]);
    expect(host.read(UNIT)).toBeUndefined();
    host.write(`/var/lib/fairlead/etcd.${UID}.started`, '');
    expect(await host.run(text)).toMatchObject({ code: 0, result: { changed: true } });
  });

  it('pulls its image through the proxy of its host, which ctr does not take from containerd', async () => {
    host
      .standIn('ctr', `case "$*" in *pull*) echo "$HTTPS_PROXY $NO_PROXY" >"$root/proxy";; esac\n${ctr}`)
      .standIn('systemctl', systemctl)
      .write(
        '/etc/systemd/system/containerd.service.d/fairlead-proxy.conf',
        '[Service]\nEnvironment="HTTPS_PROXY=http://10.0.0.1:3128"\nEnvironment="NO_PROXY=.example.org,10.0.0.0/8"\n',
      );
    expect(await host.run(text)).toMatchObject({ code: 0 });
    expect(host.read('/proxy')).toBe('http://10.0.0.1:3128 .example.org,10.0.0.0/8\n');
  });

  it("fails with containerd's error if its image cannot be pulled", async () => {
    host.standIn('ctr', 'case "$*" in *pull*) echo "no such host" >&2; exit 1;; esac').standIn('systemctl', systemctl);
    expect(await host.run(text)).toMatchObject({ code: 1, stderr: 'no such host' });
  });

  it('waits for its image if the agent imports it', async () => {
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

  it('is removed from a host that is reset: unit, programs, certificates and data', async () => {
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

  it('is removed through a survivor [CB-Ladybug 31]', async () => {
    host.standIn('etcdctl', etcdctl([1, 2, 3], [1, 2, 3]));
    expect((await host.run(text)).result).toEqual({ changed: true, members: 2 });
    expect(removed()).toEqual([expect.stringMatching(/member remove 3a$/)]);
  });

  it('may be removed when dead while the others are a majority of the rest', async () => {
    host.standIn('etcdctl', etcdctl([1, 2, 3], [1, 2]));
    expect((await host.run(text)).result).toEqual({ changed: true, members: 2 });
  });

  it('is kept if the remaining healthy ones would not be a majority', async () => {
    host.standIn('etcdctl', etcdctl([1, 2, 3], [1, 3]));
    const { code, stderr } = await host.run(text);
    expect([code, stderr]).toEqual([1, 'removing etcd member cp-3 would leave 1 healthy of 2, and 2 are needed']);
    expect(removed()).toEqual([]);
  });

  it('without a name, because its join was interrupted, is identified by its address', async () => {
    const unstarted = "'3a, unstarted, , https://10.0.0.3:2380, , true'";
    host.standIn('etcdctl', etcdctl([1], [1]).replace("printf '%s\\n' ", `printf '%s\\n' ${unstarted} `));
    expect((await host.run(text)).result).toEqual({ changed: true, members: 1 });
    expect(removed()).toEqual([expect.stringMatching(/member remove 3a$/)]);
  });

  it('unknown to etcd needs no removal', async () => {
    host.standIn('etcdctl', etcdctl([1, 2], [1, 2]));
    expect((await host.run(text)).result).toEqual({ changed: false, members: 2 });
  });
});

describe('a further member of an external etcd', () => {
  const add = renderStep('etcd-add-member', { name: 'cp-4', address: '10.0.0.4' });
  const promote = renderStep('etcd-promote-member', { name: 'cp-4', address: '10.0.0.4' });
  const voter = '1a, started, cp-1, https://10.0.0.1:2380, https://10.0.0.1:2379, false';
  const announced = '4a, unstarted, , https://10.0.0.4:2380, , true';

  /**
   * `list`: the output of `member list` before the member is added; this many additions and promotions are rejected
   * first.
   */
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

  it('is added as a learner, once, and receives all members, including itself', async () => {
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

  it('is not added while etcd rejects it, and does not replace another one', async () => {
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

  it('is promoted once it has caught up', async () => {
    etcdctl(`${voter}\n${announced.replace('unstarted, ', 'started, cp-4')}`, 2);
    expect((await host.run(promote.script)).result).toEqual({ members: 2 });
    expect(calls('member promote')).toEqual(Array.from({ length: 3 }, () => expect.stringMatching(/promote 4a$/)));
    expect((await host.run(promote.script)).result).toEqual({ members: 2 });
    expect(calls('member promote')).toHaveLength(3);
  });

  it('passes only valid names and addresses of members to another host', () => {
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

  it('is used by its API server, even if kubeadm was given all former members', async () => {
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

  it('is reached over the Kubernetes API by a static pod of its own image', async () => {
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

it('the snapshot of a failed restore is deleted, with the remains of an interrupted upload', async () => {
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
