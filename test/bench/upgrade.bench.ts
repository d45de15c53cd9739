import { join } from 'node:path';
import type { KubernetesVersion, StoredEvent } from '@fairlead/contracts';
import { budget, deployment } from '../../libs/kubernetes/test/lab.cluster.js';
import { startRig } from '../../apps/upgrade-svc/test/rollout.rig.js';
import { rounded, times, type Figure } from './figures.js';

const WORKERS = 100;
const SHARE = '10%';
const IDLE_SECONDS_GOAL = 2;
const TIMEOUT_MS = 15 * 60_000;
const PODS = 200;
const PODS_MIN = 180;

/** Times of a node's steps, in ms. */
interface Course {
  readonly started: number;
  readonly cordoned: number;
  readonly emptied: number;
  readonly asked: number;
  readonly ready: number;
  readonly completed: number;
}

/** The first event of each kind about the node after its operation began. */
const courseOf = (events: readonly StoredEvent[], node: string): Course | undefined => {
  const about = events.filter((event) => 'node' in event.data && event.data.node === node);
  const from = about.findIndex(({ type }) => type === 'OperationStarted');
  const at = (type: StoredEvent['type'], desired: (event: StoredEvent) => boolean = () => true): number => {
    const found = about.slice(from).find((event) => event.type === type && desired(event));
    return found === undefined ? Number.NaN : Date.parse(found.meta.time);
  };
  if (from < 0) return undefined;
  const change = about
    .slice(from)
    .find((event) => event.type === 'DesiredVersionsSet' && event.data.change !== undefined);
  const revision = change?.type === 'DesiredVersionsSet' ? change.data.revision : -1;
  return {
    started: at('OperationStarted'),
    cordoned: at('NodeCordoned'),
    emptied: at('NodeEmptied'),
    asked: Date.parse(change?.meta.time ?? ''),
    ready: at('NodeReady', (event) => event.type === 'NodeReady' && event.data.revision === revision),
    completed: at('OperationCompleted'),
  };
};

/** A slot's time that is neither a node's drain nor its agent's work: idle time caused by Fairlead. */
const idleSeconds = (courses: readonly Course[], slots: number): number => {
  const wall =
    Math.max(...courses.map(({ completed }) => completed)) - Math.min(...courses.map(({ started }) => started));
  const busy = courses.reduce(
    (sum, { cordoned, emptied, asked, ready }) => sum + (emptied - cordoned) + (ready - asked),
    0,
  );
  return (wall * slots - busy) / courses.length / 1_000;
};

/**
 * 100 workers of the lab at 10 %, v1.33.13 to v1.34.4, agents that answer at once: how long a slot waits for Fairlead.
 */
export const benchUpgrade = async (checkout: string): Promise<Figure[]> => {
  const main = join(checkout, 'apps', 'upgrade-svc', 'dist', 'main.js');
  const rig = await startRig({ main, controlPlanes: 1, workers: WORKERS });
  try {
    await rig.lab.apply(deployment('web', PODS), budget('web', PODS_MIN));
    await rig.ask({ kubernetes: 'v1.34.4' as KubernetesVersion }, { workers: { maxUnavailable: SHARE } });
    const planned = await rig.until(({ type }) => type === 'UpgradePlanned' || type === 'UpgradeRejected', TIMEOUT_MS);
    if (planned.type !== 'UpgradePlanned') throw new Error(JSON.stringify(planned.data));
    const end = await rig.until(({ type }) => type === 'RolloutCompleted' || type === 'RolloutHalted', TIMEOUT_MS);
    if (end.type !== 'RolloutCompleted') throw new Error(JSON.stringify(end.data));
    const events = await rig.events();
    const { plan } = planned.data;
    const batch = plan.operations.filter(({ kind, canary }) => kind === 'worker' && !canary);
    const courses = batch.flatMap(({ node }) => courseOf(events, node ?? '') ?? []);
    const slots = plan.pools.find(({ name }) => name === 'w')?.atOnce ?? 1;
    const idle = idleSeconds(courses, slots);
    const own = courses.map(({ started, completed }) => (completed - started) / 1_000);
    return [
      {
        name: `upgrade of ${WORKERS} workers at ${SHARE}: slot-idle time a node`,
        value: (factor) => `${rounded(idle * factor, 2)} s (${slots} slots)`,
        goal: `< ${IDLE_SECONDS_GOAL} s`,
        met: (factor) => idle * factor < IDLE_SECONDS_GOAL,
      },
      times(`upgrade of ${WORKERS} workers: a node, from its beginning to its end`, own, 's'),
      {
        name: `upgrade of ${WORKERS} workers: the whole`,
        value: (factor) => `${rounded((end.data.tookMs / 1_000) * factor)} s, ${events.length} events`,
      },
    ];
  } finally {
    await rig.stop();
  }
};
