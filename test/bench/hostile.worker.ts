import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { versionsIn } from '../../libs/service-kit/src/charts/chart.index.js';
import { askUserGate, type UserGateLook } from '../../apps/upgrade-svc/src/gates/user.gates.js';
import { ClientNodeKubernetes } from '@fairlead/kubernetes/client-node';

/** Sent to the process: one hostile input for the code that reads it in a service. */
export type Attack =
  | { readonly kind: 'gate'; readonly manifest: string }
  | { readonly kind: 'index'; readonly text: string }
  | { readonly kind: 'cluster'; readonly kubeconfig: string };

/** The response of the process. */
export interface Damage {
  /** The result: what was read, or the message of the refusal. */
  readonly end: string;
  readonly tookMs: number;
  /** The longest time in which the event loop was blocked. */
  readonly blockedMs: number;
  /** Memory of the process before the input was read, and its maximum. */
  readonly rssBeforeMiB: number;
  readonly rssPeakMiB: number;
}

const RESOLUTION_MS = 5;
const WARM_UP_MS = 300;
const KIBIBYTES_PER_MIB = 1_024;

const idleCluster = {
  job: async () => 'absent',
  createJob: async () => undefined,
} as unknown as UserGateLook['cluster'];

const apis = new ClientNodeKubernetes();

const readers: { readonly [Kind in Attack['kind']]: (attack: Extract<Attack, { kind: Kind }>) => Promise<string> } = {
  gate: async ({ manifest }) => {
    const gate = { name: 'hostile', kind: 'job', namespace: 'default', manifest } as const;
    const { signal } = new AbortController();
    const look = { cluster: idleCluster, namespace: 'default', asked: 'bench', signal } as unknown as UserGateLook;
    const { message } = (await askUserGate(gate, look)) as { readonly message?: string };
    return message ?? 'it holds';
  },
  index: async ({ text }) => {
    const at = { repository: 'https://charts.example.org', chart: 'chart' };
    return `${(await versionsIn(Buffer.from(text), at, new AbortController().signal)).length} versions`;
  },
  cluster: async ({ kubeconfig }) => {
    try {
      const cluster = await apis.of({ uid: 'uid', cluster: 'default/hostile', kubeconfig });
      return `${(await cluster.pods()).length} pods`;
    } finally {
      apis.close();
    }
  },
};

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error)).slice(0, 200);

const measure = async (attack: Attack): Promise<Damage> => {
  // The first cluster loads the library, which a service does once.
  if (attack.kind === 'cluster')
    await apis.of({ uid: 'uid', cluster: 'default/hostile', kubeconfig: attack.kubeconfig });
  await sleep(WARM_UP_MS);
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  const rssBeforeMiB = process.memoryUsage().rss / KIBIBYTES_PER_MIB ** 2;
  delay.enable();
  // A block is detected by a late tick, so one tick is required first.
  await sleep(RESOLUTION_MS * 4);
  const startedAt = performance.now();
  const read = readers[attack.kind] as (of: Attack) => Promise<string>;
  const end = await read(attack).catch(wordsOf);
  const tookMs = performance.now() - startedAt;
  // The next tick counts the last block.
  await sleep(RESOLUTION_MS * 4);
  delay.disable();
  const rssPeakMiB = process.resourceUsage().maxRSS / KIBIBYTES_PER_MIB;
  return { end, tookMs, blockedMs: delay.max / 1e6, rssBeforeMiB, rssPeakMiB };
};

process.once('message', (attack: Attack) => {
  void measure(attack).then((damage) => process.send?.(damage, () => process.disconnect()));
});
