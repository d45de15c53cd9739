import { ExternalFailure } from '@fairlead/contracts';
import { OnTask, type RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { renderStep } from '@fairlead/node-scripts';
import { Controller, Inject } from '@nestjs/common';
import { publishesWell } from '../bootstrap/bootstrap.state.js';
import { hostOf, type RunningTask } from '../bootstrap/running.task.js';
import { HOST_ACCESS, REMEMBERED_SECRETS } from '../bootstrap/tokens.js';
import type { HostAccess } from '../hosts/host.access.js';
import type { RememberedSecrets } from '../secrets.cache.js';

const AGAIN_MS = 100;

/** Has control planes connect to the tunnel, so that the API is reached by its name. */
@Controller()
export class PublishingEffects {
  constructor(
    @Inject(HOST_ACCESS) private readonly hosts: HostAccess,
    @Inject(REMEMBERED_SECRETS) private readonly secrets: RememberedSecrets,
  ) {}

  @OnTask('PublishApi', { attemptsMax: 4, backoffFirstMs: 1_000, timeoutMs: 4 * 60_000 })
  async publishApi(step: RunningTask): Promise<RequeueAfter | undefined> {
    const { cluster } = step.state;
    const { uid, endpoint, published, services = [], spec } = cluster;
    if (endpoint === null || published === undefined)
      throw new Error(`the plan publishes nothing before ${spec.name} has an address and a name`);
    const host = hostOf(step);
    const { name, port, tunnel, keyRef } = published;
    const privateKey = await this.secrets.get(keyRef);
    if (privateKey === undefined)
      throw new ExternalFailure({
        operation: 'publish the API',
        target: host.machine.name,
        message: `there is no key behind ${keyRef}`,
      });
    const targets = services.map((service) => ({
      name: service.name,
      target: { host: service.address, port: service.port },
    }));
    const rendered = renderStep('publish-api', {
      ...{ name, port, tunnel, target: endpoint, privateKey },
      services: targets,
    });
    await this.hosts.on(host, step, (worker) => worker.run(rendered));
    const node = host.machine.name;
    const held = services.length === 0 ? {} : { services: [...services] };
    const after = await step.record({ type: 'TunnelStarted', data: { uid, node, name, ...held } });
    // A service that came or went meanwhile does not publish a second job: this one is still desired.
    const now = after.status === 'absent' ? undefined : after.cluster.hosts[node];
    if (after.status === 'absent' || now === undefined || publishesWell(after.cluster, now)) return undefined;
    return step.requeueAfter(AGAIN_MS, 'other services came or went meanwhile');
  }
}
