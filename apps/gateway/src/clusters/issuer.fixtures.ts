import { clusterFilter, type ClusterUid, type KubernetesUser, type SecretRef } from '@fairlead/contracts';
import { makeTail } from '@fairlead/event-sourcing/jetstream';
import { NatsSecrets } from '@fairlead/service-kit';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestGateway } from '../gateway.fixtures.js';

export interface PlayedIssuer {
  /** The kubeconfigs that were issued so far. */
  readonly issued: readonly { readonly user: KubernetesUser; readonly text: string }[];
  /** Undefined: it answers with certificates; a text: it fails with these words; null: it does not answer. */
  words: string | null | undefined;
  readonly secrets: NatsSecrets;
  stop(): Promise<void>;
}

const ISSUED_FOR_MS = 8 * 3_600_000;

/** bootstrap-svc's part in kubeconfigs of the cluster `demo`: it seals a text for each request, and says so. */
export const playIssuer = async (gateway: TestGateway): Promise<PlayedIssuer> => {
  const key = Buffer.from(readFileSync(join(gateway.folder, 'master.key'), 'utf8'), 'base64');
  const nc = await gateway.environment.connect('bootstrap-svc');
  const secrets = new NatsSecrets(nc, 'bootstrap-svc', key);
  const issued: { user: KubernetesUser; text: string }[] = [];
  const stopped = new AbortController();

  const answer = async (uid: ClusterUid, requestId: string, user: KubernetesUser): Promise<void> => {
    if (played.words === null) return;
    if (played.words !== undefined) {
      const cause = { operation: 'sign a client certificate', target: 'demo', message: played.words };
      await gateway.state({ type: 'KubeconfigNotIssued', data: { uid, requestId, user, cause } });
      return;
    }
    const text = `kubeconfig of ${user} number ${issued.length}\n`;
    issued.push({ user, text });
    const kubeconfigRef = `bootstrap-svc.reader.${requestId}` as SecretRef;
    await secrets.put(kubeconfigRef, text, uid);
    const expiresAt = new Date(Date.now() + ISSUED_FOR_MS).toISOString();
    await gateway.state({ type: 'KubeconfigIssued', data: { uid, requestId, user, kubeconfigRef, expiresAt } });
  };

  const follow = async (): Promise<void> => {
    for await (const event of makeTail(nc)(clusterFilter('default', 'demo'), 0, stopped.signal))
      if (event.type === 'KubeconfigRequested') await answer(event.data.uid, event.data.requestId, event.data.user);
  };
  const played: PlayedIssuer = {
    issued,
    words: undefined,
    secrets,
    stop: async () => {
      stopped.abort();
      await following;
    },
  };
  const following = follow();
  return played;
};
