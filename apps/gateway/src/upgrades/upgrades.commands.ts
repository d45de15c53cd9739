import type { ClusterName, Namespace, UpgradeId, UpgradeRequest } from '@fairlead/contracts';
import { HANDLE, type Decided, type Handle } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';
import { createHash, randomUUID } from 'node:crypto';
import type { ClusterAddress } from '../common/cluster.address.js';
import { canonicalJson } from '../common/json.js';
import { causeOf, type Caller } from '../http/caller.js';
import { unwrap, throwIfRefused } from '../http/refusal.error.js';
import type { UpgradeMode } from '../lifecycle/upgrade.phase.js';
import {
  upgrades,
  type SteeringCommand,
  type UpgradeCommand,
  type UpgradeOrder,
  type UpgradesState,
} from './upgrades.decider.js';
import { faultsOfOverride, faultsOfUpgrade, toUpgradeStrategy, toUpgradeTarget } from './upgrades.rules.js';

/** Which upgrade a request is about. */
export interface UpgradeAddress {
  readonly namespace: Namespace;
  readonly cluster: ClusterName;
  readonly upgrade: UpgradeId;
}

export interface DecidedUpgrade {
  readonly upgrade: UpgradeId;
  readonly decided: Decided<UpgradesState>;
}

const ID_LENGTH = 10;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

const idOf = ({ commandId = randomUUID() }: Caller): UpgradeId =>
  `u-${sha256(commandId).slice(0, ID_LENGTH)}` as UpgradeId;

/** A request without faults, as it is decided. */
export const upgradeOrderOf = (request: UpgradeRequest, caller: Caller): UpgradeOrder => {
  const { pools, controlPlane, overrides } = request;
  const strategy = toUpgradeStrategy(request);
  const waits = request.waitForChecks ? { waitsForChecks: true as const } : {};
  const fact = { target: toUpgradeTarget(request), pools, controlPlane, strategy, overrides, ...waits };
  return { ...fact, upgradeId: idOf(caller), requestHash: sha256(canonicalJson(fact)) };
};

const modeOf = (request: UpgradeRequest, dryRun: boolean): UpgradeMode => {
  if (dryRun) return 'dry-run';
  return request.approved ? 'go' : 'ask';
};

/** Turns requests about upgrades into decisions. */
@Injectable()
export class UpgradeCommands {
  constructor(@Inject(HANDLE) private readonly handle: Handle) {}

  async request(
    address: ClusterAddress,
    asked: { readonly request: UpgradeRequest; readonly dryRun: boolean },
    caller: Caller,
  ): Promise<DecidedUpgrade> {
    const { request, dryRun } = asked;
    throwIfRefused(faultsOfUpgrade(request));
    // A dry run shows what holds now.
    const order = upgradeOrderOf(dryRun ? { ...request, waitForChecks: false } : request, caller);
    const { upgradeId } = order;
    const { actor } = caller.identity;
    const decided = await this.decide(
      { type: 'RequestUpgrade', data: { ...address, ...order, mode: modeOf(request, dryRun), actor } },
      address,
      caller,
    );
    const { latest, over } = decided.state;
    // A repetition without a key is answered with the upgrade that it repeats.
    return { upgrade: over.has(upgradeId) ? upgradeId : (latest?.id ?? upgradeId), decided };
  }

  async steer(command: SteeringCommand, caller: Caller): Promise<Decided<UpgradesState>> {
    if (command.type === 'OverrideRule') throwIfRefused(faultsOfOverride(command.data));
    return this.decide(command, command.data, caller);
  }

  private async decide(
    command: UpgradeCommand,
    { namespace, cluster }: { readonly namespace: string; readonly cluster: string },
    caller: Caller,
  ): Promise<Decided<UpgradesState>> {
    return unwrap(await this.handle(upgrades, { namespace, cluster, context: 'request' }, command, causeOf(caller)));
  }
}
