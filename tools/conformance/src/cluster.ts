import { execFile } from 'node:child_process';
import * as z from 'zod';

const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;
const ROLLOUT_TIMEOUT = '240s';
const NAMESPACE = 'fairlead-conformance';

/** The cluster under test, through a kubectl of the same version. */
export class Cluster {
  constructor(
    private readonly kubectl: string,
    private readonly kubeconfig: string,
  ) {}

  async version(): Promise<string> {
    const answer = z.object({ serverVersion: z.object({ gitVersion: z.string() }) });
    return answer.parse(JSON.parse(await this.run(['version', '-o', 'json']))).serverVersion.gitVersion;
  }

  async nodes(): Promise<readonly { name: string; role: string; system: string }[]> {
    const answer = z.object({
      items: z.array(
        z.object({
          metadata: z.object({ name: z.string(), labels: z.record(z.string(), z.string()) }),
          status: z.object({
            nodeInfo: z.object({
              osImage: z.string(),
              kernelVersion: z.string(),
              containerRuntimeVersion: z.string(),
              kubeletVersion: z.string(),
            }),
          }),
        }),
      ),
    });
    return answer
      .parse(JSON.parse(await this.run(['get', 'nodes', '-o', 'json'])))
      .items.map(({ metadata, status }) => ({
        name: metadata.name,
        role: 'node-role.kubernetes.io/control-plane' in metadata.labels ? 'control plane' : 'worker',
        system: `kubelet ${status.nodeInfo.kubeletVersion}, ${status.nodeInfo.containerRuntimeVersion}, ${status.nodeInfo.osImage}, Linux ${status.nodeInfo.kernelVersion.split('-')[0] ?? ''}`,
      }));
  }

  /**
   * Runs a pod with every image on every node with `imagePullPolicy: Never`, which proves that each node has all of
   * them. `archives` is a folder on each host from which they are imported first.
   */
  async ensureImages(images: readonly string[], archives: string | undefined): Promise<void> {
    await this.run(['apply', '-f', '-'], JSON.stringify(imagesManifest(images, archives)));
    try {
      await this.run(['-n', NAMESPACE, 'rollout', 'status', 'daemonset/images', `--timeout=${ROLLOUT_TIMEOUT}`]);
    } finally {
      await this.run(['delete', 'namespace', NAMESPACE, '--wait=true', '--timeout=120s']);
    }
  }

  private run(args: readonly string[], input = ''): Promise<string> {
    return new Promise((resolve, reject) => {
      const words = ['--kubeconfig', this.kubeconfig, ...args];
      const child = execFile(this.kubectl, words, { maxBuffer: OUTPUT_BYTES_MAX }, (error, stdout, stderr) => {
        if (error === null) return resolve(stdout);
        reject(new ClusterFailure(`kubectl ${args.slice(0, 2).join(' ')} failed: ${stderr.trim() || error.message}`));
      });
      // A kubectl that exits before it has read its input prints the reason itself.
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(input);
    });
  }
}

/** A request to the cluster failed; the message is kubectl's. */
export class ClusterFailure extends Error {
  override readonly name = 'ClusterFailure';
}

const imagesManifest = (images: readonly string[], archives: string | undefined) => ({
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: NAMESPACE, labels: { 'pod-security.kubernetes.io/enforce': 'privileged' } },
    },
    {
      apiVersion: 'apps/v1',
      kind: 'DaemonSet',
      metadata: { name: 'images', namespace: NAMESPACE },
      spec: {
        selector: { matchLabels: { app: 'images' } },
        template: {
          metadata: { labels: { app: 'images' } },
          spec: {
            tolerations: [{ operator: 'Exists' }],
            terminationGracePeriodSeconds: 0,
            initContainers: archives === undefined ? [] : [importer(archives)],
            containers: images.map((image, index) => ({
              name: `image-${index}`,
              image,
              imagePullPolicy: 'Never',
              // Every image except pause contains `sleep`; pause only waits.
              ...(image.includes('/pause:') ? {} : { command: ['sleep', '3600'] }),
            })),
            volumes: [{ name: 'host', hostPath: { path: '/' } }],
          },
        },
      },
    },
  ],
});

/** Runs the host's ctr on the host's file system. */
const importer = (archives: string) => ({
  name: 'import',
  image: 'localhost/busybox:1',
  imagePullPolicy: 'Never',
  securityContext: { privileged: true },
  command: [
    'busybox',
    'chroot',
    '/host',
    'sh',
    '-c',
    `for f in ${archives}/*.tar; do ctr -n k8s.io images import "$f" || exit 1; done`,
  ],
  volumeMounts: [{ name: 'host', mountPath: '/host' }],
});
