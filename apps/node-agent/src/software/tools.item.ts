import type { Item } from './item.js';
import type { Distribution } from './package.driver.js';

const ITEM = 'tools';

/** Programs of the distribution that kubeadm, the kubelet and kube-proxy call, in any version. */
export const toolsItem = (distribution: () => Promise<Distribution>): Item => ({
  name: ITEM,

  inspect: async () => {
    const driver = await distribution();
    const installed = await driver.installed(driver.tools);
    return driver.tools
      .filter((what) => !installed.has(what))
      .map((what) => ({ item: ITEM, what, observed: 'missing', desired: 'installed' }));
  },

  ensure: async (differences) => (await distribution()).require(differences.map(({ what }) => what)),
});
