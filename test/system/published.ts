import { describe } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import type { ClusterManifestView } from '@fairlead/contracts';
import { parse, stringify } from 'yaml';
import { findKubectl } from './kubectl.js';
import { startSystem, type ApiResponse, type System } from './system.js';

const hasClient = spawnSync('ssh', ['-V'], { stdio: 'ignore' }).error === undefined;
if (!hasClient) process.stderr.write('\n!!! NOT RUN: published clusters need OpenSSH: ssh is not on this machine\n\n');
/** Control planes of the lab hold their name by the SSH client of this machine. */
export const describePublished = hasClient ? describe : describe.skip;

const DOMAIN = 'clusters.example.org';
const CLUSTER = '/ns/default/clusters/demo';
const READY_WITHIN_MS = 240_000;
const machines = { connection: 'lab', machineType: 'lab.medium' };
const run = promisify(execFile);

interface Kubeconfig {
  readonly clusters: { readonly cluster: Record<string, unknown> & { readonly server: string } }[];
}

/** What a story does with a cluster whose API is published. */
export interface Published {
  readonly system: System;
  /** By which its API is reached. */
  readonly name: string;
  apply(endpoint: object, authentication?: object): Promise<ApiResponse<ClusterManifestView & { errors?: unknown }>>;
  manifest(): Promise<ClusterManifestView>;
  /** The kubeconfig of an operator: which server it names, and a file with it. */
  kubeconfig(): Promise<{ readonly server: string; readonly file: string }>;
  /** What kubectl prints with that file. */
  kubectl(file: string, ...args: readonly string[]): Promise<string>;
  /** What kubectl lists with that file. */
  nodes(file: string): Promise<string>;
}

/** A cluster that is Ready. Real processes, and OpenSSH as the unit of its control plane; the hosts and their API are simulated. */
export const startPublished = async (): Promise<Published> => {
  const kubectl = await findKubectl();
  const system = await startSystem({
    light: false,
    publish: DOMAIN,
    identity: true,
    env: { NODES_WATCH_INTERVAL_MS: '2000' },
  });
  const name = `api.demo.${DOMAIN}`;
  const published: Published = {
    system,
    name,
    apply: (endpoint, authentication) =>
      system.call('PUT', `${CLUSTER}/manifest`, {
        apiVersion: 'fairlead.dev/v1alpha1',
        kind: 'Cluster',
        metadata: { name: 'demo' },
        spec: {
          serviceType: 'single',
          controlPlane: { replicas: 1, ...machines },
          pools: [{ name: 'web', replicas: 1, ...machines }],
          endpoint,
          ...(authentication === undefined ? {} : { authentication }),
        },
      }),
    manifest: async () => (await system.call<ClusterManifestView>('GET', `${CLUSTER}/manifest`)).body,
    kubeconfig: async () => {
      const { body } = await system.call<string>('GET', `${CLUSTER}/kubeconfig`);
      const config = parse(body) as Kubeconfig;
      const [{ cluster }] = config.clusters as [Kubeconfig['clusters'][number]];
      const { server } = cluster;
      // No DNS knows the name: where kubectl connects is an address, and whom it expects there is the name.
      Object.assign(cluster, { server: `https://127.0.0.1:${new URL(server).port}`, 'tls-server-name': name });
      const file = `${system.environment.dataDir}/demo.kubeconfig`;
      writeFileSync(file, stringify(config), { mode: 0o600 });
      return { server, file };
    },
    kubectl: async (file, ...args) => (await run(kubectl, ['--kubeconfig', file, ...args])).stdout.trim(),
    nodes: (file) => published.kubectl(file, 'get', 'nodes', '-o', 'name', '--request-timeout=5s'),
  };
  try {
    const { status, body } = await published.apply({ publish: true });
    if (status !== 202) throw new Error(`${status} ${JSON.stringify(body)}`);
    await system.until('demo', ({ type }) => type === 'ClusterReady', READY_WITHIN_MS);
    return published;
  } catch (error) {
    await system.stop();
    throw error;
  }
};
