import * as z from 'zod';
import type { KubeObject } from '../objects/kube.object.js';

/** What `etcdutl snapshot restore` wrote into a data folder: the identity of a new etcd, and its contents. */
export const RestoredEtcd = z.object({
  name: z.string(),
  token: z.string(),
  /** Peer URLs by the names of the members. */
  initialCluster: z.record(z.string(), z.string()),
  /** The revision from which the new etcd counts. */
  revision: z.int(),
  objects: z.array(z.custom<KubeObject>((value) => typeof value === 'object' && value !== null)),
});
export type RestoredEtcd = z.infer<typeof RestoredEtcd>;

/**
 * Members that were started from a restored data folder and are too few to be an etcd yet. They find only those of the same token, so
 * they take nothing from the cluster from before and give nothing to it.
 */
export class RestoredMembers {
  private readonly started = new Map<string, Set<string>>();

  /** The members that run, once they are more than half of those that the new etcd begins with; undefined: too few. */
  start({ name, token, initialCluster }: RestoredEtcd): ReadonlySet<string> | undefined {
    const started = this.started.get(token) ?? new Set<string>();
    this.started.set(token, started.add(name));
    const quorum = Math.floor(Object.keys(initialCluster).length / 2) + 1;
    return started.size >= quorum ? started : undefined;
  }

  stop(name: string): void {
    for (const started of this.started.values()) started.delete(name);
  }
}
