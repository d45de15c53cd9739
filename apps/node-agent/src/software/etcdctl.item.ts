import type { HostFiles } from '../files/files.ports.js';
import type { Item } from './item.js';
import type { Mirror } from './mirror.js';

const ITEM = 'etcdctl';
const TO = '/usr/local/bin/etcdctl';
const EXECUTABLE = 0o755;

/** etcd's client on control planes, if the source has it: it is needed to remove a lost member. */
export const etcdctlItem = (files: HostFiles, mirror: Mirror, version: string): Item => {
  const hashed = { identity: '', sha256: '' };

  const desired = async (): Promise<string | undefined> =>
    (await mirror.release(version))?.tools.find((path) => path.endsWith('/etcdctl'));

  const present = async (): Promise<string | undefined> => {
    const stat = await files.stat(TO);
    if (stat === undefined) return undefined;
    if (hashed.identity !== stat.identity) {
      hashed.sha256 = await files.sha256(TO);
      hashed.identity = stat.identity;
    }
    return hashed.sha256;
  };

  return {
    name: ITEM,

    inspect: async () => {
      const path = await desired();
      if (path === undefined) return [];
      const observed = await present();
      if (observed === (await mirror.sha256Of(path))) return [];
      return [{ item: ITEM, what: TO, observed: observed === undefined ? 'missing' : 'another one', desired: path }];
    },

    ensure: async () => {
      const path = await desired();
      if (path !== undefined) await mirror.place(path, TO, EXECUTABLE);
    },
  };
};
