import { apiRouterId, ExternalFailure } from '@fairlead/contracts';
import { OnTask, type RequeueAfter } from '@fairlead/event-sourcing/jetstream';
import { renderStep } from '@fairlead/node-scripts';
import { Controller, Inject } from '@nestjs/common';
import { createHmac } from 'node:crypto';
import {
  balancedOver,
  balancesWell,
  initialControlPlane,
  type Cluster,
  type Host,
} from '../bootstrap/bootstrap.state.js';
import { hostOf, type RunningTask } from '../bootstrap/running.task.js';
import { HOST_ACCESS, REMEMBERED_SECRETS } from '../bootstrap/tokens.js';
import type { HostAccess } from '../hosts/host.access.js';
import type { RememberedSecrets } from '../secrets.cache.js';

const PASSWORD_LENGTH = 8;

const AGAIN_MS = 100;

/** Configures the API's address on the control planes if no provider balances it. */
@Controller()
export class BalancingEffects {
  constructor(
    @Inject(HOST_ACCESS) private readonly hosts: HostAccess,
    @Inject(REMEMBERED_SECRETS) private readonly secrets: RememberedSecrets,
  ) {}

  @OnTask('BalanceApi', { attemptsMax: 4, backoffFirstMs: 1_000, timeoutMs: 6 * 60_000 })
  async balanceApi(step: RunningTask): Promise<RequeueAfter | void> {
    const { cluster } = step.state;
    const host = hostOf(step);
    const { name } = host.machine;
    const rendered = renderStep('balance-api', await this.inputOf(step));
    await this.hosts.on(host, step, (worker) => worker.run(rendered));
    const controlPlanes = [...balancedOver(cluster)];
    const after = await step.record({ type: 'ApiBalanced', data: { uid: cluster.uid, node: name, controlPlanes } });
    // A control plane added or removed meanwhile does not publish a second job: this one is still desired.
    const now = after.status === 'absent' ? undefined : after.cluster.hosts[name];
    if (after.status === 'absent' || now === undefined || balancesWell(after.cluster, now)) return undefined;
    return step.requeueAfter(AGAIN_MS, 'other control planes came or went meanwhile');
  }

  private async inputOf(step: RunningTask) {
    const { cluster } = step.state;
    const { machine } = hostOf(step);
    const { uid, endpoint } = cluster;
    if (endpoint === null) throw new Error(`the plan balances nothing before ${cluster.spec.name} has an address`);
    const peers = balancedOver(cluster).flatMap((name) => cluster.hosts[name] ?? []);
    // The first host of the cluster is the first target, because it needs the address first.
    const initial = initialControlPlane(cluster);
    const [first = hostOf(step), ...others] = peers.toSorted(
      (one, other) => Number(other === initial) - Number(one === initial),
    );
    const inOrder = [first, ...others];
    return {
      uid,
      endpoint,
      routerId: apiRouterId(uid),
      password: await this.password(cluster, first),
      self: { name: machine.name, address: machine.privateIp },
      peers: inOrder.map((peer) => ({ name: peer.machine.name, address: peer.machine.privateIp })),
      initialises: machine.leader && cluster.controlPlane === null,
    };
  }

  /**
   * keepalived's password between the control planes. It is derived from the SSH key of the first one, so that every
   * replica computes the same one. VRRP sends it in clear text: it protects against mistakes, not against attackers.
   */
  private async password({ uid }: Cluster, { machine }: Host): Promise<string> {
    const { keyRef } = machine.ssh;
    const key = await this.secrets.get(keyRef);
    if (key !== undefined)
      return createHmac('sha256', key).update(`vrrp/${uid}`).digest('hex').slice(0, PASSWORD_LENGTH);
    const message = `there is no key behind ${keyRef}`;
    throw new ExternalFailure({ operation: 'balance the API address', target: machine.name, message });
  }
}
