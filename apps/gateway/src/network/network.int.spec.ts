import type { ClusterManifestView, ClusterView, ErrorView, Fact, NodeName } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { request, useGateway } from '../gateway.fixtures.js';
import { CREATE, uid as storyUid } from '../story.fixtures.js';

const gateway = useGateway(async () => {
  const { body } = await gateway.ask<ClusterView>('POST', '/ns/default/clusters', { body: request('demo') });
  uid = body.uid;
  for (const fact of CREATE.slice(1)) await gateway.state(about(fact));
});
let uid: string;
const about = (fact: Fact): Fact => JSON.parse(JSON.stringify(fact).replaceAll(storyUid, uid)) as Fact;

const path = '/ns/default/clusters/demo';
const patch = (spec: object) =>
  gateway.ask<ClusterManifestView & Omit<ErrorView, 'kind'>>('PATCH', `${path}/manifest`, { body: { spec } });
const log = () => gateway.log('evt.*.default.demo.>');
const clusterNow = async (): Promise<ClusterView> => {
  const last = (await log()).at(-1)?.meta.seq ?? 0;
  return (await gateway.ask<ClusterView>('GET', `${path}?minSeq=${last}`)).body;
};

const NODE = 'demo-w-1' as NodeName;
const of = { uid: storyUid, node: NODE, revision: '0123456789abcdef', attempt: 1 };
const desired: Fact = {
  type: 'DesiredNetworkSet',
  data: { ...of, sshd: { hardening: true, tcpForwarding: false } },
};
const failed: Fact = {
  type: 'NodeNetworkFailed',
  data: { ...of, failures: [{ part: 'sshd', command: 'sshd -t', message: 'Bad SSH2 cipher spec', reverted: true }] },
};
const networkOf = ({ conditions, nodes }: ClusterView) => ({
  condition: conditions.find(({ type }) => type === 'NetworkApplied'),
  node: nodes.find(({ name }) => name === NODE)?.network,
});

describe('the network configuration that a manifest declares', () => {
  it('is one change with a reason, and none when it is declared again', async () => {
    const spec = { firewall: { allow: [{ name: 'web', ports: [80, '8000-8010'], from: ['0.0.0.0/0'] }] } };
    const { status, body } = await patch(spec);
    expect(status).toBe(200);
    expect(body.plan).toMatchObject([{ action: 'configure-network', count: 5 }]);
    const before = (await log()).length;
    expect((await patch(spec)).body.plan).toEqual([]);
    expect((await log()).length).toBe(before);
  });

  it('is refused where rules share a name, or name a pool that does not exist', async () => {
    const rule = { name: 'web', ports: [80], from: ['0.0.0.0/0'] };
    expect((await patch({ firewall: { allow: [rule, rule] } })).body.reason).toBe('firewall.rule-twice');
    const strange = { ...rule, pools: ['no-such'] };
    expect((await patch({ firewall: { allow: [strange] } })).body.reason).toBe('firewall.rule-pool');
    expect((await patch({ firewall: { ssh: ['everywhere'] } })).status).toBe(400);
  });

  it('is shown for each node, with the error of what failed, and is applied again on request', async () => {
    expect(networkOf(await clusterNow())).toEqual({ condition: undefined, node: undefined });
    await gateway.state(about(desired));
    expect(networkOf(await clusterNow())).toMatchObject({
      condition: { status: 'False', reason: 'NetworkWaiting' },
      node: { state: 'waiting' },
    });
    await gateway.state(about(failed));
    const { condition, node } = networkOf(await clusterNow());
    expect(condition?.reason).toBe('NetworkFailed');
    expect(condition?.message).toContain(`${NODE}: sshd: Bad SSH2 cipher spec (reverted)`);
    expect(node?.state).toBe('failed');
    const { status } = await gateway.ask<ClusterView>('POST', `${path}/network/retry`);
    expect(status).toBe(200);
    expect((await log()).at(-1)?.type).toBe('NetworkRetryRequested');
    await gateway.state(about({ type: 'NodeNetworkApplied', data: of } as Fact));
    expect(networkOf(await clusterNow())).toMatchObject({ condition: { status: 'True' }, node: { state: 'applied' } });
  });

  it('of a cluster that does not exist cannot be applied again', async () => {
    const { status, body } = await gateway.ask<ErrorView>('POST', '/ns/default/clusters/none/network/retry');
    expect([status, body.reason]).toEqual([404, 'cluster.unknown']);
  });
});
