import type { MirrorImage } from '@fairlead/contracts';
import type { ImageStore } from './images.js';
import type { Item } from './item.js';

const ITEM = 'images';
/** More would compete for the disk and the CPU. */
const AT_ONCE = 2;

/** Images that must exist before kubeadm runs; `desired` is called when needed. */
export const imagesItem = (store: ImageStore, desired: () => Promise<readonly MirrorImage[]>): Item => ({
  name: ITEM,

  inspect: async () =>
    (await store.missing(await desired())).map(({ reference }) => ({
      item: ITEM,
      what: reference,
      observed: 'missing',
      desired: 'imported',
    })),

  ensure: async (differences) => {
    const names = new Set(differences.map(({ what }) => what));
    await store.import(
      (await desired()).filter(({ reference }) => names.has(reference)),
      AT_ONCE,
    );
  },
});
