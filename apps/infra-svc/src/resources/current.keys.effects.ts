import type { ConnectionName } from '@fairlead/contracts';
import { connectionOfSshKey, NO_SSH_KEY, sshKeyAfter, type ConnectionSshKey } from '@fairlead/domain';
import type { EventStore } from '@fairlead/event-sourcing';
import { EVENT_STORE, LatestFold } from '@fairlead/event-sourcing/jetstream';
import { Inject, Injectable } from '@nestjs/common';

type Keys = ReadonlyMap<string, ConnectionSshKey>;

/**
 * The SSH key for new machines of a connection, from the log, because a replica's cache may be older than a rotation.
 */
@Injectable()
export class CurrentKeys {
  private readonly keys: LatestFold<Keys>;

  constructor(@Inject(EVENT_STORE) store: EventStore) {
    this.keys = new LatestFold<Keys>(store, {
      filters: ['evt.*._._.*.SshKeyEnsured', 'evt.*._._.ssh-keys.SshKeyRotationStarted'],
      initial: new Map(),
      evolve: (keys, event) => {
        const connection = connectionOfSshKey(event);
        if (connection === undefined) return keys;
        return new Map(keys).set(connection, sshKeyAfter(keys.get(connection) ?? NO_SSH_KEY, event));
      },
    });
  }

  /** null: it has none yet. */
  async of(connection: ConnectionName): Promise<ConnectionSshKey['current']> {
    return (await this.keys.latest()).get(connection)?.current ?? null;
  }
}
