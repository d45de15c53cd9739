import { OPERATORS_GROUP } from '@fairlead/contracts';
import type { Kubeconfigs } from '@fairlead/domain';
import { OnTask, type TaskContext } from '@fairlead/event-sourcing/jetstream';
import { newClientRequest } from '@fairlead/kubernetes/client.request';
import { kubeconfigOf, signedCertificate } from '@fairlead/kubernetes/kubeconfig';
import { CLOCK, type Clock } from '@fairlead/service-kit';
import { Controller, Inject } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { CLUSTER_ACCESS } from '../bootstrap/tokens.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { openRequest, type KubeconfigsCommand } from './kubeconfigs.decider.js';
import { ISSUE, REMOVE, type KubeconfigData } from './kubeconfigs.reconciler.js';
import { OPERATORS_BINDING } from './operators.manifests.js';

/** Maximum clock skew of a control plane ahead of this service. */
const CLOCK_SKEW_MS = 5 * 60_000;
const NAME_SUFFIX_LENGTH = 8;

type KubeconfigTask = TaskContext<Kubeconfigs | undefined, KubeconfigsCommand, KubeconfigData>;

/**
 * Operators' kubeconfigs: a separate key per request and a certificate signed by the cluster, both sealed with the
 * cluster's key. The private key is in the memory of this process only until then.
 */
@Controller()
export class KubeconfigsEffects {
  constructor(
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @OnTask(ISSUE, { attemptsMax: 2, backoffFirstMs: 500, timeoutMs: 30_000 })
  async issue(task: KubeconfigTask): Promise<void> {
    const { cluster, signal } = task;
    const { uid, requestId } = task.data;
    const request = openRequest(task.state, task.data);
    if (task.state === undefined || request === undefined) throw new Error('only open requests are issued');
    const { server, caCertHash, published } = task.state;
    const { user, ttlSeconds } = request;
    const { api, administrator } = await this.clusters.open({ uid, cluster, recorded: { server, caCertHash } });
    await api.apply([OPERATORS_BINDING]);
    const { key, csr } = await newClientRequest(user, OPERATORS_GROUP);
    // A new name per attempt, because the key of an earlier one is lost.
    const name = `fairlead-${requestId}-${randomUUID().slice(0, NAME_SUFFIX_LENGTH)}`;
    const answer = await api.signClientCertificate({ name, csr, ttlSeconds }, signal);
    const expiresBy = new Date(this.clock.now().getTime() + ttlSeconds * 1_000 + CLOCK_SKEW_MS);
    const { ca } = administrator;
    const expected = { ca, key, user, group: OPERATORS_GROUP, expiresBy };
    const { certificate, expiresAt } = signedCertificate(answer, cluster, expected);
    signal.throwIfAborted();
    const kubeconfig = kubeconfigOf(cluster, { server: published ?? administrator.server, ca, certificate, key }, user);
    const ref = await this.clusters.sealReader({ uid, requestId, kubeconfig });
    const after = await task.record({ type: 'RecordIssued', data: { uid, requestId, ref, expiresAt } });
    // The cluster's deletion was requested meanwhile: the kubeconfig will not be read.
    if (after?.sealed[requestId] === undefined) await this.clusters.removeReader(requestId);
  }

  @OnTask(REMOVE, { attemptsMax: 50, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async remove(task: KubeconfigTask): Promise<void> {
    const { uid, requestId } = task.data;
    await this.clusters.removeReader(requestId);
    await task.record({ type: 'RecordRemoved', data: { uid, requestId } });
  }
}
