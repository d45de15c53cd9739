import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { QUESTIONS, type Question } from '../../../../test/recorded/questions.js';
import { recorded as recordedOnHost, RECORDED_VERSIONS } from '../../../../test/recorded/recorded.js';
import { TestHost } from './host.fixtures.js';
import { CLUSTER, CONTROL_PLANE, PEERS, SHARED, UID } from './steps.fixtures.js';
import { renderStep } from './steps.js';

/** What real tools printed, with their version in the file's name: our scripts read exactly this. */
const recorded = (name: string): string =>
  readFileSync(new URL(`recorded/etcdctl-3.6.8.${name}.txt`, import.meta.url), 'utf8');

describe('what etcdctl of a real cluster prints', () => {
  let host: TestHost;
  const remove = renderStep('etcd-remove-member', { member: 'e3', address: '198.18.7.13', self: 'e1' }).script;
  const removals = (): readonly string[] => host.calls('etcdctl').filter((call) => call.includes('member remove'));

  /** etcdctl that prints what was recorded; it refuses the first removals so often. */
  const etcdctl = (list: string, refusals = 0): void => {
    host
      .write('/list', recorded(list))
      .write('/health', recorded('endpoint-health'))
      .write('/refused', recorded('member-remove.refused'))
      .standIn(
        'etcdctl',
        `case " $* " in
  *" member list "*) cat "$root/list";;
  *" endpoint health "*) cat "$root/health";;
  *" member remove "*)
    if [ "$(grep -c 'member remove' "$root/calls")" -le ${refusals} ]; then cat "$root/refused" >&2; exit 1; fi;;
esac`,
      )
      .standIn('sleep', 'exit 0');
  };

  beforeEach(() => {
    host = new TestHost();
  });
  afterEach(() => host.remove());

  it('names the member of a control plane', async () => {
    etcdctl('member-list');
    expect((await host.run(remove)).result).toEqual({ changed: true, members: 2 });
    expect(removals()).toEqual([expect.stringMatching(/member remove e1d4df4423670a2d$/)]);
  });

  it('names the member that an interrupted join left, which has no name, by its address', async () => {
    etcdctl('member-list.interrupted-join');
    expect((await host.run(remove)).result).toEqual({ changed: true, members: 2 });
    expect(removals()).toEqual([expect.stringMatching(/member remove ac199d40b5bd2d1$/)]);
  });

  it('is asked again while etcd refuses to change its membership, and not for ever', async () => {
    etcdctl('member-list', 3);
    expect((await host.run(remove)).result).toEqual({ changed: true, members: 2 });
    expect(removals()).toHaveLength(4);
    etcdctl('member-list', 1_000);
    expect(await host.run(remove)).toMatchObject({ code: 1, stderr: expect.stringContaining('unhealthy cluster') });
    expect(removals()).toHaveLength(4 + 8);
  });
});

describe.each(RECORDED_VERSIONS)('what the tools of a real control plane of %s print', (kubernetes) => {
  let host: TestHost;
  const said = (question: Question): string => recordedOnHost(kubernetes, QUESTIONS[question]);
  const prints = (question: Question): string => {
    host.write(`/said/${question}`, said(question));
    return `cat "$root/said/${question}"`;
  };

  beforeEach(() => {
    host = new TestHost();
  });
  afterEach(() => host.remove());

  it('holds the token and the key of a join', async () => {
    host.standIn(
      'kubeadm',
      `case " $* " in *" token create "*) ${prints('token')};; *" upload-certs "*) ${prints('certificateKey')};; esac`,
    );
    const wanted = { cluster: CLUSTER, address: CONTROL_PLANE.address, tokenTtlSeconds: 60, certificates: true };
    expect((await host.run(renderStep('credentials', wanted).script)).result).toEqual({
      token: 'abcdef.0123456789abcdef',
      certificateKey: '0123456789abcdef'.repeat(4),
    });
  });

  it('says which versions are there, and which ports are taken', async () => {
    host
      .standIn('kubeadm', prints('kubeadm'))
      .standIn('kubelet', prints('kubelet'))
      .standIn('ss', prints('listeners'))
      .standIn('systemctl', 'exit 0');
    const wanted = { controlPlane: true, address: '198.18.64.11', kubernetesVersion: kubernetes, failSwapOn: false };
    const { result } = await host.run(renderStep('verify', wanted).script);
    expect(result).toEqual({
      problems: expect.arrayContaining(['port 6443 is in use', 'port 10250 is in use']),
    });
    expect(JSON.stringify(result)).not.toMatch(/kubeadm is|kubelet is/);
  });

  it('names the interface that has an address', async () => {
    const [, address = ''] = / inet (198\.18\.64\.\d+)\//.exec(said('addresses')) ?? [];
    host
      .standIn('ip', prints('addresses'))
      .standIn('haproxy', 'exit 0')
      .standIn('keepalived', 'exit 0')
      .standIn('systemctl', 'exit 0');
    const self = { ...PEERS[0], address };
    const endpoint = { host: SHARED.address, port: 9998 };
    const { routerId, password } = SHARED;
    const wanted = { uid: UID, endpoint, routerId, password, self, peers: PEERS, initialises: false };
    expect(await host.run(renderStep('balance-api', wanted).script)).toMatchObject({ code: 0 });
    expect(host.read('/etc/fairlead/balancer/keepalived.conf')).toContain('interface host0');
  });

  it('tells the major version of the Node runtime', () => expect(said('node')).toMatch(/^v(\d+)\./));
});
