import { EXTERNAL_ETCD } from '@fairlead/contracts';
import * as z from 'zod';
import type { HostFiles } from '../files/host.files.js';
import type { Host } from '../hosts/host.js';
import { RestoredEtcd } from '../kubernetes/index.js';

const NAMES = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', EXTERNAL_ETCD.component] as const;
export type StaticPod = (typeof NAMES)[number];

/** Files of a data folder that `etcdutl snapshot restore` writes and the simulated etcd reads. */
export const RESTORE_RECORD = 'member/wal/0000000000000000-0000000000000000.wal';
export const DATABASE = 'member/snap/db';
const DATA_FOLDER = '/var/lib/etcd';

/** The folder from which the kubelet of a host reads static pods. */
export const MANIFESTS = '/etc/kubernetes/manifests';

const pathOf = (name: StaticPod): string =>
  name === EXTERNAL_ETCD.component ? EXTERNAL_ETCD.pod : `${MANIFESTS}/${name}.yaml`;

/** The image of the pod that has the tools of an external etcd, or undefined if the host has no such pod. */
export const etcdctlImageOn = async ({ files }: Host): Promise<string | undefined> =>
  /^[ \t]*image: (\S+)$/m.exec((await files.readText(EXTERNAL_ETCD.pod)) ?? '')?.[1];

/** The static pods that have a manifest on the host. */
export const manifestsOn = async ({ files }: Host): Promise<readonly StaticPod[]> => {
  const found = await Promise.all(NAMES.map((name) => files.exists(pathOf(name))));
  return NAMES.filter((_, index) => found[index]);
};

const Record = RestoredEtcd.omit({ objects: true });
const Database = z.object({ objects: RestoredEtcd.shape.objects });

/** Returns undefined if the data folder was never restored, as after `kubeadm init` and `kubeadm join`. */
export const restoredEtcdOn = async (files: HostFiles): Promise<RestoredEtcd | undefined> => {
  const record = await files.readText(`${DATA_FOLDER}/${RESTORE_RECORD}`);
  const database = await files.readText(`${DATA_FOLDER}/${DATABASE}`);
  if (record === undefined || database === undefined) return undefined;
  return { ...Record.parse(JSON.parse(record)), ...Database.parse(JSON.parse(database)) };
};
