import type { Pod } from '../objects/core.types.js';

/** A new container begins with the files of its image; so few pods get any that the oldest may be forgotten. */
const PODS_MAX = 64;

/** The writable layers of simulated containers: what a program in one has written is there until its pod is another one. */
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
