import { provideDebianProgram } from '@fairlead/embedded/apt';
import { newFolder, removeFolder } from '@fairlead/testing';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { SimulatedCluster } from './cluster/simulated.cluster.js';
import type { SimulatedClusterOptions } from './cluster/cluster.options.js';
import type { NodeRegistration, NodeRole } from './nodes/node.registration.js';
import type { ApiListener } from './http/api.listener.js';

const run = promisify(execFile);
const COMMAND_TIMEOUT_MS = 60_000;

/** A kubectl binary of this machine. */
export interface Kubectl {
  readonly path: string;
  readonly version: string;
}

/** Returns the kubectl on PATH, or undefined if there is none. */
export const installedKubectl = async (): Promise<Kubectl | undefined> => {
  try {
    return { path: 'kubectl', version: await versionOf('kubectl') };
  } catch {
    return undefined;
  }
};

/**
 * Extracts Debian's kubectl from its package into a folder. Returns undefined and logs the reason if that is not
 * possible.
 */
export const debianKubectl = async (folder: string): Promise<Kubectl | undefined> => {
  try {
    const path = join(folder, 'kubectl');
    const reasons = await provideDebianProgram({ name: 'kubernetes-client', path: 'usr/bin/kubectl' }, path);
    if (reasons.length > 0) throw new Error(reasons.join('; '));
    return { path, version: await versionOf(path) };
  } catch (error) {
    process.stderr.write(
      `SKIPPED: Debian's kubernetes-client is not available here, the simulation is not checked with it: ${String(error)}\n`,
    );
    return undefined;
  }
};

const versionOf = async (path: string): Promise<string> => {
  const { stdout } = await run(path, ['version', '--client', '-o', 'json'], { timeout: COMMAND_TIMEOUT_MS });
  return /"gitVersion": "([^"]+)"/.exec(stdout)?.[1] ?? 'unknown';
};

export const machine = (name: string, role: NodeRole, host: number): NodeRegistration => ({
  name,
  role,
  internalIP: `10.1.0.${host}`,
  kubeletVersion: 'v1.34.4',
  containerRuntimeVersion: 'containerd://1.7.22',
  osImage: 'Debian GNU/Linux 12 (bookworm)',
  kernelVersion: '6.1.0-simulated',
  cpu: 4,
  memory: '8Gi',
});

export interface Bench {
  readonly cluster: SimulatedCluster;
  readonly listener: ApiListener;
  readonly server: string;
  readonly folder: string;
  /** Writes a kubeconfig into the folder and returns its path. */
  kubeconfig(user: 'admin' | { readonly node: string }): Promise<string>;
  close(): Promise<void>;
}

/** Starts a cluster with one control plane, two workers and a working network on a free loopback port. */
export const startBench = async (given: Partial<SimulatedClusterOptions> = {}): Promise<Bench> => {
  const folder = newFolder('lab');
  const cluster = await SimulatedCluster.create({
    name: 'demo',
    version: 'v1.34.4',
    podCidr: '10.244.0.0/16',
    serviceCidr: '10.96.0.0/12',
    delays: { podStartMs: 20, podStopMs: 20, jobRunMs: 50 },
    ...given,
  });
  const listener = await cluster.listen({ host: '127.0.0.1', port: 0, sans: ['api.demo'] });
  const server = `https://127.0.0.1:${listener.port}`;
  cluster.registerNode(machine('cp1', 'control-plane', 1));
  cluster.registerNode(machine('w1', 'worker', 11));
  cluster.registerNode(machine('w2', 'worker', 12));
  cluster.setNetworkReady(true);
  return {
    cluster,
    listener,
    server,
    folder,
    kubeconfig: async (user) => {
      const path = join(folder, user === 'admin' ? 'admin.conf' : `${user.node}.conf`);
      await writeFile(path, await cluster.kubeconfig({ server, user }), { mode: 0o600 });
      return path;
    },
    close: async () => {
      await cluster.close();
      removeFolder(folder);
    },
  };
};

/** Runs kubectl with a kubeconfig. Rejects with its stderr if it fails. */
export const kubectlWith =
  (kubectl: Kubectl, kubeconfig: string, folder: string) =>
  async (...args: readonly string[]): Promise<string> => {
    const env = {
      ...process.env,
      KUBECONFIG: kubeconfig,
      KUBECACHEDIR: join(folder, 'cache'),
      HOME: folder,
      EDITOR: 'true',
    };
    try {
      const { stdout, stderr } = await run(kubectl.path, [...args], {
        env,
        timeout: COMMAND_TIMEOUT_MS,
        maxBuffer: 16 * 1024 * 1024,
      });
      return `${stdout}${stderr}`;
    } catch (error) {
      const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
      throw new Error(`kubectl ${args.join(' ')}: ${stdout}${stderr}`, { cause: error });
    }
  };
