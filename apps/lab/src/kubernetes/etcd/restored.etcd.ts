import * as z from 'zod';
import type { KubeObject } from '../objects/kube.object.js';

/** The contents of a data folder after `etcdutl snapshot restore`: the identity of a new etcd, and its objects. */
export const RestoredEtcd = z.object({
  name: z.string(),
  token: z.string(),
  /** Peer URLs by member name. */
  initialCluster: z.record(z.string(), z.string()),
  /** The revision at which the new etcd starts. */
  revision: z.int(),
  objects: z.array(z.custom<KubeObject>((value) => typeof value === 'object' && value !== null)),
});
export type RestoredEtcd = z.infer<typeof RestoredEtcd>;

/**
 * Members that were started from a restored data folder but do not have quorum yet. They connect only to members with
 * the same token, so they cannot affect the former cluster.
 */
export class RestoredMembers {
  private readonly started = new Map<string, Set<string>>();

  /** Returns the running members once a majority of the new etcd's initial members runs, or undefined before that. */
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
