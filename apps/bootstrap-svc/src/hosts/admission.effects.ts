import { HostCredential } from '@fairlead/contracts';
import { OnTask } from '@fairlead/event-sourcing/jetstream';
import { Controller, Inject } from '@nestjs/common';
import { channelUserOf } from '../bootstrap/bootstrap.state.js';
import { hostOf, streamOf, type RunningTask } from '../bootstrap/running.task.js';
import { AGENT_KIT, REMEMBERED_SECRETS } from '../bootstrap/tokens.js';
import { channelRef } from '../kubernetes/cluster.access.js';
import type { RememberedSecrets } from '../secrets.cache.js';
import type { AgentKit } from './agent.kit.js';

/**
 * Issues claims to hosts that connect by themselves, for the key with which they were admitted; the private key never
 * leaves the host.
 */
@Controller()
export class AdmissionEffects {
  constructor(
    @Inject(AGENT_KIT) private readonly kit: AgentKit,
    @Inject(REMEMBERED_SECRETS) private readonly secrets: Pick<RememberedSecrets, 'seal'>,
  ) {}

  @OnTask('AdmitHost', { attemptsMax: 5, backoffFirstMs: 1_000, timeoutMs: 60_000 })
  async admitHost(step: RunningTask): Promise<void> {
    const host = hostOf(step);
    const { cluster } = step.state;
    const user = channelUserOf(cluster, host);
    if (user === undefined) throw new Error('the plan admits only hosts that have presented a token');
    const { uid } = cluster;
    const { name: node, providerId } = host.machine;
    const { namespace, cluster: name } = streamOf(step);
    const { credentialLifetimeSeconds: lifetimeSeconds } = this.kit;
    const jwt = this.kit.renewedClaims({ namespace, cluster: name, node }, user, lifetimeSeconds) ?? '';
    const where = { natsUrls: [...this.kit.natsUrls], ...this.kit.natsTrust() };
    const sealed = HostCredential.parse({ namespace, cluster: name, node, uid, jwt, ...where });
    // Sealed first, so that whoever reads the recorded user finds the claims.
    await this.secrets.seal(channelRef(providerId.slice(providerId.indexOf('://') + 3)), JSON.stringify(sealed), uid);
    await step.record({ type: 'IssueCredential', data: { uid, node, user, lifetimeSeconds } });
  }
}
