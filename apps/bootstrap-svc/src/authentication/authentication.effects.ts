import { OnTask } from '@fairlead/event-sourcing/jetstream';
import { authenticationConfig, renderStep } from '@fairlead/node-scripts';
import { Controller, Inject } from '@nestjs/common';
import { authenticationRevision, desiredBindings } from '../bootstrap/authentication.evolve.js';
import { hostOf, type RunningTask } from '../bootstrap/running.task.js';
import { CLUSTER_ACCESS, HOST_ACCESS } from '../bootstrap/tokens.js';
import type { HostAccess } from '../hosts/host.access.js';
import type { ClusterAccess } from '../kubernetes/cluster.access.js';
import { usersBinding } from './users.manifests.js';

/** OpenID Connect for the users of a cluster: configures its API servers, and the permissions of groups. */
@Controller()
export class AuthenticationEffects {
  constructor(
    @Inject(HOST_ACCESS) private readonly hosts: HostAccess,
    @Inject(CLUSTER_ACCESS) private readonly clusters: ClusterAccess,
  ) {}

  /**
   * Retried for half a day: an issuer may be unavailable for hours, and the API servers keep their previous
   * configuration.
   */
  @OnTask('ConfigureAuthentication', {
    attemptsMax: 75,
    backoffFirstMs: 2_000,
    backoffMaxMs: 600_000,
    timeoutMs: 5 * 60_000,
  })
  async configureAuthentication(step: RunningTask): Promise<void> {
    const { cluster } = step.state;
    const host = hostOf(step);
    const { name, privateIp: address } = host.machine;
    const content = authenticationConfig(cluster.authentication?.oidc);
    const rendered = renderStep('authentication', { address, content });
    await this.hosts.on(host, step, (worker) => worker.run(rendered));
    const authentication = authenticationRevision(cluster);
    await step.record({ type: 'AuthenticationConfigured', data: { uid: cluster.uid, node: name, authentication } });
  }

  @OnTask('AuthorizeUsers', {
    attemptsMax: 20,
    backoffFirstMs: 1_000,
    backoffMaxMs: 600_000,
    timeoutMs: 2 * 60_000,
  })
  async authorizeUsers(step: RunningTask): Promise<void> {
    const { cluster } = step.state;
    const { uid, authentication: { oidc } = {} } = cluster;
    const roleBindings = desiredBindings(cluster).map(({ clusterRole, groups }) => ({
      clusterRole,
      groups: [...groups],
    }));
    const api = await this.clusters.of(cluster);
    await api.apply(roleBindings.map((binding) => usersBinding(binding, oidc ?? {})));
    const authentication = authenticationRevision(cluster);
    await step.record({ type: 'UsersAuthorized', data: { uid, authentication, roleBindings } });
  }
}
