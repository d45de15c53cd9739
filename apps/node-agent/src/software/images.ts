import type { MirrorImage } from '@fairlead/contracts';
import type { HostPort } from '../node/host.ports.js';
import { mustRun } from './item.js';
import type { Mirror } from './mirror.js';

/** containerd's namespace of everything that a kubelet runs. */
const NAMESPACE = ['-n', 'k8s.io'];
const IMPORT_TIMEOUT_MS = 10 * 60_000;
/** A kubelet whose disk fills up deletes images that no container uses, but none that containerd calls pinned. */
const PINNED = 'io.cri-containerd.pinned';
const ALL_PINNED = `labels."${PINNED}"==pinned`;

/** What a node needs in the order in which its pods ask for it. */
const ORDER = ['pause', 'etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kube-proxy', 'flannel'];

const rank = ({ name }: MirrorImage): number => {
  const at = ORDER.indexOf(name);
  return at < 0 ? ORDER.length : at;
};

export interface ImageOrder {
  /** Before the node is called prepared. */
  readonly first: readonly MirrorImage[];
  /** While others still work on what must be done before this node joins. */
  readonly later: readonly MirrorImage[];
}

/**
 * kubeadm init needs the images of its static pods at once. All other nodes join a good while after they are prepared, so
 * that theirs can come meanwhile; only the sandbox is needed by everything.
 */
export const orderImages = (images: readonly MirrorImage[], initial: boolean): ImageOrder => {
  const isFirst = ({ name, roles }: MirrorImage): boolean => name === 'pause' || (initial && !roles.includes('worker'));
  const sorted = images.toSorted((one, other) => rank(one) - rank(other));
  return { first: sorted.filter(isFirst), later: sorted.filter((image) => !isFirst(image)) };
};

/** Names in `ctr images ls -q`, one in each line. */
export const missingImages = (desired: readonly MirrorImage[], listed: string): readonly MirrorImage[] => {
  const present = new Set(listed.split('\n').map((line) => line.trim()));
  return desired.filter(({ reference }) => !present.has(reference));
};

const repositoryOf = (reference: string): string => reference.replace(/:[^:/]*$/, '');

/** Names in `ctr images ls -q` of other versions of these images. The sandbox's is left to containerd, which pins it itself. */
export const obsoleteImages = (needed: readonly MirrorImage[], listed: string): readonly string[] => {
  const kept = new Set(needed.map(({ reference }) => reference));
  const repositories = new Set(
    needed.filter(({ name }) => name !== 'pause').map((image) => repositoryOf(image.reference)),
  );
  const names = listed.split('\n').map((line) => line.trim());
  return names.filter((name) => repositories.has(repositoryOf(name)) && !kept.has(name));
};

/**
 * Container images from archives into containerd. They are pinned: a kubelet that deleted one before its pod comes could not pull it
 * again.
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

  /** In this order, `atOnce` at a time. The first that fails ends it, once those that were begun have ended. */
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

  /** Other versions of these images are pinned no more: a kubelet may delete them once they are not used. */
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
