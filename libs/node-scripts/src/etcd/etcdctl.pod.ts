import { EXTERNAL_ETCD } from '@fairlead/contracts';
import { stringify } from 'yaml';

const NAME = 'etcdctl';
/** kubeadm's path for the certificates of its own etcd, so that the paths are the same in either container. */
const PKI = '/etc/kubernetes/pki/etcd';

const readOnly = (name: string, hostPath: string, mountPath: string) => ({
  mount: { name, mountPath, readOnly: true },
  volume: { name, hostPath: { path: hostPath, type: 'Directory' } },
});

/**
 * The static pod through which its host's member is reached over the Kubernetes API, like kubeadm's own etcd through
 * its pod. It has the tools of etcd's image; `etcd gateway` is a program of that image that keeps running regardless of
 * the member.
 */
export const etcdctlPod = (image: string): string => {
  const volumes = [readOnly('pki', EXTERNAL_ETCD.pki, PKI), readOnly('data', EXTERNAL_ETCD.data, EXTERNAL_ETCD.data)];
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: NAME, namespace: 'kube-system', labels: { component: NAME, tier: 'control-plane' } },
      spec: {
        hostNetwork: true,
        priorityClassName: 'system-node-critical',
        containers: [
          {
            name: NAME,
            image,
            imagePullPolicy: 'IfNotPresent',
            command: ['etcd', 'gateway', 'start', '--endpoints=127.0.0.1:2379', '--listen-addr=127.0.0.1:23790'],
            resources: { requests: { cpu: '10m', memory: '20Mi' } },
            volumeMounts: volumes.map(({ mount }) => mount),
          },
        ],
        volumes: volumes.map(({ volume }) => volume),
      },
    },
    { lineWidth: 0 },
  );
};
