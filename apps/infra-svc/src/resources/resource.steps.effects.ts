import { ExternalFailure, type ConnectionName, type SecretRef, type SshKeyGeneration } from '@fairlead/contracts';
import { generationNumberOf } from '@fairlead/domain';
import type { Cause } from '@fairlead/event-sourcing';
import { Inject, Injectable } from '@nestjs/common';
import type { Network, OpenConnection } from '../providers/provider.ports.js';
import { CurrentKeys } from './current.keys.effects.js';
import { ResourcesLog } from './resources.log.effects.js';
import { firewallOf, networkOf, sshKeyName, sshKeyRef } from './resources.planner.js';
import type { SharedInfrastructure } from './resources.ports.js';
import { SealedKeys } from './sealed.keys.effects.js';

/**
 * The steps that ensure a connection's shared resources, in CB-Ladybug's order. Each is ensured before it is stated.
 */
@Injectable()
export class ResourceSteps {
  constructor(
    @Inject(ResourcesLog) private readonly log: ResourcesLog,
    @Inject(SealedKeys) private readonly keys: SealedKeys,
    @Inject(CurrentKeys) private readonly current: CurrentKeys,
  ) {}

  async ensureAll(open: OpenConnection, cause: Cause, signal: AbortSignal): Promise<SharedInfrastructure> {
    const network = await this.network(open, cause, signal);
    const firewall = await this.firewall(open, network, cause, signal);
    const key = await this.sshKey(open, cause, signal);
    const image = await this.image(open, cause, signal);
    return { network: network.name, firewall, sshKey: key.sshKey, keyRef: key.keyRef, image };
  }

  async spec({ connection, provider }: OpenConnection, spec: string, cause: Cause, signal: AbortSignal): Promise<void> {
    const found = await provider.resolveSpec(spec, signal);
    if (found === undefined) {
      const message = `the provider has no machine size ${spec}`;
      throw new ExternalFailure({ operation: 'resolve spec', target: connection.name, message, retryable: false });
    }
    const { cpuCount, memoryGiB } = found;
    await this.log.record(
      { type: 'SpecEnsured', data: { connection: connection.name, spec, cpuCount, memoryGiB } },
      cause,
    );
  }

  /** Whether new machines of the connection get this key. */
  async isCurrent(connection: ConnectionName, keyRef: SecretRef): Promise<boolean> {
    const current = await this.current.of(connection);
    return current === null || current.keyRef === keyRef;
  }

  private async network({ connection, provider }: OpenConnection, cause: Cause, signal: AbortSignal): Promise<Network> {
    const network = await provider.ensureNetwork(networkOf(connection), signal);
    const { name, subnet, cidr } = network;
    await this.log.record(
      { type: 'NetworkEnsured', data: { connection: connection.name, network: name, subnet, cidr } },
      cause,
    );
    return network;
  }

  private async firewall(
    { connection, provider }: OpenConnection,
    network: Network,
    cause: Cause,
    signal: AbortSignal,
  ): Promise<string> {
    const firewall = await provider.ensureFirewall(firewallOf(connection, network), signal);
    await this.log.record(
      { type: 'FirewallEnsured', data: { connection: connection.name, firewall: firewall.name } },
      cause,
    );
    return firewall.name;
  }

  private async sshKey(
    open: OpenConnection,
    cause: Cause,
    signal: AbortSignal,
  ): Promise<{ sshKey: string; keyRef: SecretRef }> {
    const { name: connection } = open.connection;
    const current = await this.current.of(connection);
    const generation = current === null ? 1 : generationNumberOf(current.keyRef);
    const key = await this.ensureKey(open, generation, signal);
    const { sshKey, publicKey, keyRef: secretRef } = key;
    await this.log.record({ type: 'SshKeyEnsured', data: { connection, sshKey, publicKey, secretRef } }, cause);
    return key;
  }

  /**
   * Sealed before it is passed to the provider, so that a retry after a crash finds the same key. Must not run
   * concurrently.
   */
  async ensureKey(
    { connection: { name }, provider }: OpenConnection,
    generation: number,
    signal: AbortSignal,
  ): Promise<SshKeyGeneration> {
    const { publicKey } = await this.keys.ensure(name, generation);
    const key = await provider.ensureSshKey({ name: sshKeyName(name, generation), publicKey }, signal);
    if (key.ref === undefined && key.publicKey !== publicKey) {
      const message = `the provider has another key under the name ${key.name}; delete it there`;
      throw new ExternalFailure({ operation: 'ensure SSH key', target: name, message, retryable: false });
    }
    return { sshKey: key.name, publicKey: key.publicKey, keyRef: key.ref ?? sshKeyRef(name, generation) };
  }

  private async image({ connection, provider }: OpenConnection, cause: Cause, signal: AbortSignal): Promise<string> {
    const { name: image, os } = await provider.resolveImage(signal);
    await this.log.record({ type: 'ImageEnsured', data: { connection: connection.name, image, os } }, cause);
    return image;
  }
}
