import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import type { NfsExport } from './addon.settings.js';
import { clusterAccount, mount, namespacedRole, namespaceOf } from './manifest.parts.js';

const NAME = 'nfs-storage';
const PROVISIONER = 'storage.fairlead.dev/nfs';

/** kubernetes-sigs/nfs-subdir-external-provisioner: each volume is a folder of one NFS export. */
export const nfsStorage =
  (version: string) =>
  ({ server, path }: NfsExport): readonly Manifest[] => [
    namespaceOf(NAME),
    ...clusterAccount('nfs-provisioner', NAME, [
      { apiGroups: [''], resources: ['persistentvolumes'], verbs: ['get', 'list', 'watch', 'create', 'delete'] },
      { apiGroups: [''], resources: ['persistentvolumeclaims'], verbs: ['get', 'list', 'watch', 'update'] },
      { apiGroups: [''], resources: ['events'], verbs: ['create', 'update', 'patch'] },
      { apiGroups: ['storage.k8s.io'], resources: ['storageclasses'], verbs: ['get', 'list', 'watch'] },
    ]),
    // The lock of its leader election.
    ...namespacedRole('nfs-provisioner-leader', NAME, 'nfs-provisioner', [
      { apiGroups: [''], resources: ['endpoints'], verbs: ['get', 'list', 'watch', 'create', 'update', 'patch'] },
    ]),
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'nfs-provisioner', namespace: NAME },
      spec: {
        replicas: 1,
        strategy: { type: 'Recreate' },
        selector: { matchLabels: { 'app.kubernetes.io/name': 'nfs-provisioner' } },
        template: {
          metadata: { labels: { 'app.kubernetes.io/name': 'nfs-provisioner' } },
          spec: {
            serviceAccountName: 'nfs-provisioner',
            containers: [
              {
                name: 'nfs-provisioner',
                image: `registry.k8s.io/sig-storage/nfs-subdir-external-provisioner:${version}`,
                env: [
                  { name: 'PROVISIONER_NAME', value: PROVISIONER },
                  { name: 'NFS_SERVER', value: server },
                  { name: 'NFS_PATH', value: path },
                ],
                volumeMounts: [mount('export', '/persistentvolumes')],
              },
            ],
            volumes: [{ name: 'export', nfs: { server, path } }],
          },
        },
      },
    },
    {
      apiVersion: 'storage.k8s.io/v1',
      kind: 'StorageClass',
      metadata: { name: 'nfs' },
      provisioner: PROVISIONER,
      parameters: { archiveOnDelete: 'false' },
    },
  ];
