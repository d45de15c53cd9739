import type { Pod } from '../objects/core.types.js';

/** A new container starts with the files of its image. So few pods need a layer that the oldest can be dropped. */
const PODS_MAX = 64;

/** The writable layers of simulated containers: files written in a container are kept until its pod is replaced. */
export class ContainerFiles {
  private readonly layers = new Map<string, Map<string, Buffer>>();

  of({ metadata: { uid } }: Pod): Map<string, Buffer> {
    const known = this.layers.get(uid);
    if (known !== undefined) return known;
    const made = new Map<string, Buffer>();
    this.layers.set(uid, made);
    const [oldest] = this.layers.keys();
    if (this.layers.size > PODS_MAX && oldest !== undefined) this.layers.delete(oldest);
    return made;
  }
}
