import type { NodeList, StoredEvent } from '@fairlead/contracts';
import { KubernetesClient } from '@fairlead/kubernetes';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clusterBody, startSystem, type System } from './system/system.js';

const TIMEOUT_MS = 240_000;
const NAME = 'late';
const CLUSTER = `/ns/default/clusters/${NAME}`;
/** The minimum: workers share a token for half a minute. */
const TTL_S = 60;
/** On a slower machine, a worker gets a new token as usual. */
const TRIES_MAX = 4;

describe('a token for joins (light lab)', () => {
  let system: System;
  let kubernetes: KubernetesClient;

  const lastSeq = async (): Promise<number> => (await system.events(NAME)).at(-1)?.meta.seq ?? 0;
  const isReadyAfter =
    (seq: number) =>
    ({ type, meta }: StoredEvent): boolean =>
      type === 'ClusterReady' && meta.seq > seq;

  /** Expires the tokens like Kubernetes: kubeadm no longer finds them. */
  const endTokens = async (): Promise<number> => {
    const { items } = await kubernetes.core.listNamespacedSecret({ namespace: 'kube-system' });
    const tokens = items
      .flatMap(({ metadata }) => metadata?.name ?? [])
      .filter((name) => name.startsWith('bootstrap-token-'));
    for (const name of tokens) await kubernetes.core.deleteNamespacedSecret({ namespace: 'kube-system', name });
    return tokens.length;
  };
  const renewals = async (after: number): Promise<readonly StoredEvent<'JoinTokenRenewed'>[]> =>
    (await system.events(NAME)).flatMap((event) =>
      event.type === 'JoinTokenRenewed' && event.meta.seq > after ? [event] : [],
    );

  beforeAll(async () => {
    system = await startSystem({ light: true, env: { JOIN_TOKEN_TTL_S: String(TTL_S) } });
    const asked = clusterBody(NAME, { controlPlanes: 1, workers: 1 });
    expect((await system.call('POST', '/ns/default/clusters', asked)).status).toBe(202);
    await system.until(NAME, isReadyAfter(0), TIMEOUT_MS);
    const { body: kubeconfig } = await system.call<string>('GET', `${CLUSTER}/kubeconfig/administrator`);
    kubernetes = new KubernetesClient(NAME, kubeconfig, () => undefined);
  }, TIMEOUT_MS);
  afterAll(async () => {
    kubernetes?.close();
    await system?.stop();
  }, 60_000);

  it(
    'expires before a node has joined with it: the node gets another one in the same attempt, which is recorded, and joins [Cluster API 20]',
    async () => {
      for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
        const seq = await lastSeq();
        expect(await endTokens()).toBeGreaterThan(0);
        const worker = [{ connection: 'lab', count: 1, spec: 'lab.medium' }];
        expect((await system.call('POST', `${CLUSTER}/nodes`, { worker })).status).toBe(202);
        await system.until(NAME, isReadyAfter(seq), TIMEOUT_MS);
        const [renewal] = await renewals(seq);
        if (renewal === undefined) continue;
        const { node, endedAt } = renewal.data;
        const events = await system.events(NAME);
        const joined = events.find((event) => event.type === 'WorkerJoined' && event.data.node === node);
        expect(joined?.meta.seq).toBeGreaterThan(renewal.meta.seq);
        expect(events.filter(({ type, meta }) => type === 'BootstrapStepFailed' && meta.seq > seq)).toEqual([]);
        expect(Date.parse(endedAt)).toBeLessThanOrEqual(Date.parse(renewal.meta.time) + TTL_S * 1_000);
        const { body } = await system.call<NodeList>('GET', `${CLUSTER}/nodes?minSeq=${await lastSeq()}`);
        expect(body.items.find(({ name }) => name === node)?.phase).toBe('Ready');
        return;
      }
      throw new Error(`no token was renewed in ${TRIES_MAX} tries`);
    },
    TIMEOUT_MS,
  );
});
