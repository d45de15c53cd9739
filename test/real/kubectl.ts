import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { mirrorPaths } from '@fairlead/contracts';
import { localMirror } from '@fairlead/mirror';
import type { System } from '../system/system.js';

const run = promisify(execFile);
const CALL_TIMEOUT_MS = 60_000;
const AGAIN_MS = 500;
const ROLLED_OUT_WITHIN_MS = 240_000;

/** The mirror's own kubectl for one cluster. */
export interface Kubectl {
  readonly kubeconfig: string;
  /** Its file, for long-running commands. */
  readonly program: string;
  (...args: readonly string[]): Promise<string>;
}

export const kubectlOf = async (system: System, cluster: string, version: string): Promise<Kubectl> => {
  const { status, body } = await system.call<string>('GET', `/ns/default/clusters/${cluster}/kubeconfig`);
  if (status !== 200) throw new Error(`there is no kubeconfig of ${cluster}: ${JSON.stringify(body)}`);
  const kubeconfig = join(system.environment.dataDir, `${cluster}.kubeconfig`);
  writeFileSync(kubeconfig, body, { mode: 0o600 });
  const program = join(localMirror(process.env), mirrorPaths.binary(version, 'kubectl'));
  const kubectl = async (...args: readonly string[]): Promise<string> =>
    (await run(program, ['--kubeconfig', kubeconfig, ...args], { timeout: CALL_TIMEOUT_MS })).stdout;
  return Object.assign(kubectl, { kubeconfig, program });
};

/** Polls until the result fits. Throws with the last result, or its failure, at the deadline. */
export const eventually = async <T>(
  what: string,
  look: () => Promise<T>,
  fits: (value: T) => boolean,
  timeoutMs: number,
): Promise<T> => {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const seen: { value: T } | { error: unknown } = await look().then(
      (value) => ({ value }),
      (error: unknown) => ({ error }),
    );
    if ('value' in seen && fits(seen.value)) return seen.value;
    if (Date.now() > deadline) {
      const words = 'value' in seen ? JSON.stringify(seen.value) : String(seen.error);
      throw new Error(`${what}: not within ${timeoutMs / 1000} s; last seen: ${words.slice(0, 2_000)}`);
    }
    await sleep(AGAIN_MS);
  }
};

/**
 * Waits until a workload has all pods of its newest template; further arguments select its namespace. Takes minutes on
 * a busy machine.
 */
export const rolledOut = async (kubectl: Kubectl, what: string, ...words: readonly string[]): Promise<void> => {
  const look = (): Promise<string> => kubectl('rollout', 'status', what, ...words, '--timeout=30s');
  await eventually(`${what} to have its pods`, look, () => true, ROLLED_OUT_WITHIN_MS);
};

interface NodeList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly status: {
      readonly conditions: readonly { readonly type: string; readonly status: string }[];
      readonly nodeInfo: { readonly kubeletVersion: string };
    };
  }[];
}

/** Every node with its kubelet's version and whether it is Ready. */
export const nodesOf = async (
  kubectl: Kubectl,
): Promise<readonly { name: string; version: string; ready: boolean }[]> => {
  const { items } = JSON.parse(await kubectl('get', 'nodes', '-o', 'json')) as NodeList;
  return items.map(({ metadata, status }) => ({
    name: metadata.name,
    version: status.nodeInfo.kubeletVersion,
    ready: status.conditions.some(({ type, status: is }) => type === 'Ready' && is === 'True'),
  }));
};
