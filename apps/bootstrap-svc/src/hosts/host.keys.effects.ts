import type { Machine } from '@fairlead/contracts';
import {
  HOST_KEYS_PINNED_FILTER,
  hostKeysAfter,
  knownHostKey,
  NO_HOST_KEYS,
  REGISTERED_FILTER,
  sshAddress,
  type HostKeys,
} from '@fairlead/domain';
import type { EventStore } from '@fairlead/event-sourcing';
import { LatestFold } from '@fairlead/event-sourcing/jetstream';
import type { MachineHostKeys } from './hosts.ports.js';

const OWN_HOST = /^ssh:\/\/([^/]+)\//;

/**
 * The accepted host keys of an inventory in the log: a key that is accepted later also applies to existing clusters.
 */
export class LogHostKeys implements MachineHostKeys {
  private readonly keys: LatestFold<HostKeys>;

  constructor(store: EventStore) {
    this.keys = new LatestFold(store, {
      filters: [REGISTERED_FILTER, HOST_KEYS_PINNED_FILTER],
      initial: NO_HOST_KEYS,
      evolve: hostKeysAfter,
    });
  }

  async of({ providerId, connection, ssh }: Machine): Promise<{ readonly host?: string; readonly jump?: string }> {
    const host = OWN_HOST.exec(providerId)?.[1];
    if (host === undefined) return {};
    const keys = await this.keys.latest();
    const keyOf = (name: string | null, at: { readonly host: string; readonly port: number }): string | undefined =>
      knownHostKey(keys, connection, { host: name, address: sshAddress({ address: at.host, port: at.port }) })
        ?.fingerprint;
    const own = keyOf(host, ssh);
    const jump = ssh.jump === undefined ? undefined : keyOf(null, ssh.jump);
    return { ...(own === undefined ? {} : { host: own }), ...(jump === undefined ? {} : { jump }) };
  }
}
