import type { MirrorImage } from '@fairlead/contracts';
import type { HostPort } from '../node/host.ports.js';
import { mustRun } from './item.js';
import type { Mirror } from './mirror.js';

/** containerd's namespace for everything that a kubelet runs. */
const NAMESPACE = ['-n', 'k8s.io'];
const IMPORT_TIMEOUT_MS = 10 * 60_000;
/** A kubelet whose disk fills up deletes unused images, except those that containerd marks as pinned. */
const PINNED = 'io.cri-containerd.pinned';
const ALL_PINNED = `labels."${PINNED}"==pinned`;

/** The images of a node in the order in which its pods need them. */
const ORDER = ['pause', 'etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy', 'flannel'];

const rank = ({ name }: MirrorImage): number => {
  const at = ORDER.indexOf(name);
  return at < 0 ? ORDER.length : at;
};

export interface ImageOrder {
  /** Imported before the node counts as prepared. */
  readonly first: readonly MirrorImage[];
  /** Imported while others work on steps before this node's join. */
  readonly later: readonly MirrorImage[];
}

/**
 * kubeadm init needs the images of its static pods at once. Other nodes join well after they are prepared, so that
 * theirs can be imported in between; only the sandbox image is needed by everything.
 */
export const orderImages = (images: readonly MirrorImage[], initial: boolean): ImageOrder => {
  const isFirst = ({ name, roles }: MirrorImage): boolean => name === 'pause' || (initial && !roles.includes('worker'));
  const sorted = images.toSorted((one, other) => rank(one) - rank(other));
  return { first: sorted.filter(isFirst), later: sorted.filter((image) => !isFirst(image)) };
};

/** The desired images that are missing in the output of `ctr images ls -q`, one per line. */
export const missingImages = (desired: readonly MirrorImage[], listed: string): readonly MirrorImage[] => {
  const present = new Set(listed.split('\n').map((line) => line.trim()));
  return desired.filter(({ reference }) => !present.has(reference));
};

const repositoryOf = (reference: string): string => reference.replace(/:[^:/]*$/, '');

/**
 * Other versions of these images in the output of `ctr images ls -q`. The sandbox image is pinned by containerd itself.
 */
export const obsoleteImages = (needed: readonly MirrorImage[], listed: string): readonly string[] => {
  const kept = new Set(needed.map(({ reference }) => reference));
  const repositories = new Set(
    needed.filter(({ name }) => name !== 'pause').map((image) => repositoryOf(image.reference)),
  );
  const names = listed.split('\n').map((line) => line.trim());
  return names.filter((name) => repositories.has(repositoryOf(name)) && !kept.has(name));
};

/**
 * Imports container images from archives into containerd and pins them: if a kubelet deleted one before its pod starts,
 * it could not be pulled again.
 */
export class ImageStore {
  constructor(
    private readonly host: HostPort,
    private readonly mirror: Mirror,
  ) {}

  async missing(desired: readonly MirrorImage[]): Promise<readonly MirrorImage[]> {
    if (desired.length === 0) return [];
    return missingImages(desired, await mustRun(this.host, 'ctr', [...NAMESPACE, 'images', 'ls', '-q']));
  }

  /**
   * Imports in this order, `atOnce` at a time. After the first failure, waits for the imports in progress and stops.
   */
  async import(images: readonly MirrorImage[], atOnce: number): Promise<void> {
    const waiting = [...images];
    const work = async (): Promise<void> => {
      for (let image = waiting.shift(); image !== undefined; image = waiting.shift()) {
        try {
          await this.importOne(image);
        } catch (error) {
          waiting.length = 0;
          throw error;
        }
      }
    };
    const ended = await Promise.allSettled(Array.from({ length: atOnce }, work));
    const failed = ended.find((each) => each.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  /** Unpins other versions of these images, so that a kubelet may delete them once they are unused. */
  async unpinOthers(needed: readonly MirrorImage[]): Promise<void> {
    const listed = await mustRun(this.host, 'ctr', [...NAMESPACE, 'images', 'ls', '-q', ALL_PINNED]);
    for (const reference of obsoleteImages(needed, listed)) await this.label(reference, '');
  }

  private async importOne({ path, reference }: MirrorImage): Promise<void> {
    const readable = await this.mirror.readable(path);
    await mustRun(this.host, 'ctr', [...NAMESPACE, 'images', 'import', readable.path], IMPORT_TIMEOUT_MS);
    await readable.release();
    await this.label(reference, 'pinned');
  }

  private async label(reference: string, value: string): Promise<void> {
    await mustRun(this.host, 'ctr', [...NAMESPACE, 'images', 'label', reference, `${PINNED}=${value}`]);
  }
}
