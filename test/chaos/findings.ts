import { setTimeout as sleep } from 'node:timers/promises';
import type { ApiResponse, ChaosApi } from './api.js';
import { pathOf, type ChaosClusters, type NodeView, type Desired } from './clusters.js';
import type { ChaosInstance } from './instance.js';

const ANSWER_TIMEOUT_MS = 60_000;
const POLL_INTERVAL_MS = 1_000;

interface Stats {
  readonly names: Readonly<Record<string, number>>;
  readonly now: Readonly<Record<string, number>>;
}

/** The objects inspected at the end. */
export interface Scene {
  readonly instance: ChaosInstance;
  readonly clusters: ChaosClusters;
  readonly api: ChaosApi;
  readonly lab: ChaosApi;
}

/** Waits until every cluster has its desired state. Returns the differences at the deadline. */
export const whenQuiet = async (scene: Scene, timeoutMs: number): Promise<readonly string[]> => {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const open = (await Promise.all(scene.clusters.desired.map((desired) => differenceOf(scene, desired)))).flat();
    if (open.length === 0 || Date.now() > deadline || !scene.instance.serves) return open;
    await sleep(POLL_INTERVAL_MS);
  }
};

const differenceOf = async ({ clusters }: Scene, desired: Desired): Promise<readonly string[]> => {
  const { status, body } = await clusters.view(desired.name);
  const { name, deleted, controlPlanes, workers } = desired;
  if (deleted) return status === 404 ? [] : [`${name} was deleted, and GET answers ${status} ${body.status?.phase}`];
  if (status !== 200) return [`${name} is to be there, and GET answers ${status}`];
  const { phase = '', reason = '', message = '' } = body.status ?? {};
  if (phase !== 'Provisioned') return [`${name} is ${phase} ${reason} ${message}`.trim()];
  const nodes = body.nodes ?? [];
  const count = (role: string): number => nodes.filter((node) => node.role === role).length;
  const idle = nodes.filter(({ ready }) => !ready).map((node) => `${name}: ${node.name} is ${node.phase}`);
  if (count('control-plane') === controlPlanes && count('worker') === workers) return idle;
  const has = `${count('control-plane')} control planes and ${count('worker')} workers`;
  return [`${name} has ${has}, not ${controlPlanes} and ${workers}`, ...idle];
};

/** Checks all invariants at the end, whatever was killed. */
export const findings = async (scene: Scene): Promise<readonly string[]> => [
  ...(await machineFindings(scene)),
  ...(await auditFindings(scene)),
  ...(await serviceFindings(scene)),
];

/** By the cloud's own records: each machine was created once, those of live clusters exist, and no others. */
const machineFindings = async ({ lab, clusters }: Scene): Promise<readonly string[]> => {
  const { body: stats } = await lab.ask<Stats>({ method: 'GET', path: '/v1/stats?commands=none' }, ANSWER_TIMEOUT_MS);
  const { body: machines } = await lab.ask<{ readonly items: readonly { readonly name: string }[] }>(
    { method: 'GET', path: '/v1/machines' },
    ANSWER_TIMEOUT_MS,
  );
  const live = clusters.desired.filter(({ deleted }) => !deleted);
  const views = await Promise.all(live.map(({ name }) => clusters.view(name)));
  const nodes = views.flatMap(({ body }) => body.nodes ?? ([] as readonly NodeView[])).map(({ name }) => name);
  const standing = machines.items.map(({ name }) => name);
  const twice = (names: readonly string[]): readonly string[] =>
    names.filter((name, index) => names.indexOf(name) !== index);
  return [
    ...Object.entries(stats.names)
      .filter(([, times]) => times > 1)
      .map(([name, times]) => `the cloud made ${name} ${times} times`),
    ...twice(standing).map((name) => `two machines are called ${name}`),
    ...standing.filter((name) => !nodes.includes(name)).map((name) => `the machine ${name} belongs to no cluster`),
    ...nodes.filter((name) => !standing.includes(name)).map((name) => `the node ${name} has no machine`),
  ];
};

interface Audit {
  readonly next: number | null;
  readonly verification: { readonly intact: boolean; readonly faults: readonly unknown[] };
}

const auditFindings = async ({ api, clusters }: Scene): Promise<readonly string[]> => {
  const checked = clusters.desired.map(async ({ name, deleted }) => {
    for (let after: number | null = 0; after !== null;) {
      const path: string = `${pathOf(name)}/audit?limit=5000&after=${after}`;
      const answer: ApiResponse<Audit> = await api.ask({ method: 'GET', path }, ANSWER_TIMEOUT_MS);
      const { status, body } = answer;
      if (status === 404 && deleted) return []; // It was refused, and never existed.
      if (status !== 200 || !body.verification.intact)
        return [`the audit of ${name} is not whole: ${status} ${JSON.stringify(body.verification)}`];
      after = body.next;
    }
    return [];
  });
  return (await Promise.all(checked)).flat();
};

const serviceFindings = async ({ api, instance }: Scene): Promise<readonly string[]> => {
  const { body: quarantined } = await api.ask<{ readonly items: readonly unknown[] }>(
    { method: 'GET', path: '/quarantine' },
    ANSWER_TIMEOUT_MS,
  );
  const ready = await api.ask<unknown>({ method: 'GET', path: '/readyz' }, ANSWER_TIMEOUT_MS);
  return [
    ...quarantined.items.map((item) => `a cluster is quarantined: ${JSON.stringify(item)}`),
    ...(ready.status === 200 ? [] : [`/readyz answers ${ready.status}: ${JSON.stringify(ready.body)}`]),
    ...(instance.serves ? [] : ['fairlead up has ended']),
    ...instance.stopped().map((name) => `${name} does not run`),
  ];
};
