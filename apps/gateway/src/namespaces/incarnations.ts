import { EVERY_NAMESPACE, refuse, type StoredEvent } from '@fairlead/contracts';
import { Inject, Injectable } from '@nestjs/common';
import { mayEverywhere, type Identity } from '../access/identity.js';
import { Registry } from '../common/registry.js';
import { RefusalError } from '../http/refusal.error.js';

/**
 * A name may return, a namespace never does: what belonged to one that was deleted is not shown to, and not opened by, whoever has roles in
 * another of its name. Read from the log itself, so that no late table lets a token in.
 */
@Injectable()
export class Incarnations {
  constructor(@Inject(Registry) private readonly registry: Registry) {}

  /** The sequence after which the history of the namespace's clusters is the caller's to read. */
  async visibleAfter(namespace: string, identity: Identity): Promise<number> {
    if (mayEverywhere(identity, 'admin')) return 0;
    const found = (await this.registry.latest()).namespaces.get(namespace);
    const isTheirs = identity.roles.some(
      (grant) =>
        grant.namespace === EVERY_NAMESPACE ||
        (grant.namespace === namespace && (grant.since === undefined || grant.since === found?.since)),
    );
    if (found === undefined || !isTheirs) throw new RefusalError(refuse('namespace.unknown', { namespace }));
    return found.since;
  }

  /**
   * Whether an event of the namespace's clusters still belongs to the history that the caller began to read. Another incarnation's history
   * begins with a request for a cluster.
   */
  async isSame(event: StoredEvent, after: number, identity: Identity): Promise<boolean> {
    if (event.type !== 'ClusterRequested' || mayEverywhere(identity, 'admin')) return true;
    return (await this.registry.latest()).namespaces.get(event.meta.namespace)?.since === after;
  }
}
