import { newestVersion, unsignedSentence, type ConditionReason } from '@fairlead/contracts';
import { heldAttempts } from '../lifecycle/held.hooks.js';
import type { ConditionFacts, NodeFacts } from './condition.facts.js';
import {
  CHANGING,
  MINUTE_MS,
  NAMED_MAX,
  found,
  holds,
  isControlPlane,
  isNot,
  latestOf,
  staying,
  type Read,
} from './condition.reading.js';

const versionsOf = (nodes: readonly NodeFacts[]): readonly string[] =>
  [...new Set(nodes.flatMap(({ kubelet }) => (kubelet === undefined ? [] : [kubelet.replace(/^v?/, 'v')])))].toSorted();

export const upgrading: Read = (facts) => {
  const { upgrade, changedAt } = facts;
  if (upgrade !== null) {
    const { id, phase, message, since } = upgrade;
    const text = `upgrade ${id} is ${phase}${message === '' ? '' : `: ${message}`}`;
    if (phase === 'Halted')
      return found({ status: 'True', reason: 'UpgradeHalted', message: text, since, calls: 'Degraded' });
    if (CHANGING.has(phase))
      return found({ status: 'True', reason: 'UpgradeRunning', message: text, since, calls: 'Maintaining' });
    if (phase === 'Waiting')
      return found({
        status: 'True',
        reason: 'UpgradeWaiting',
        message: `${text}. It goes on by itself when that is over; what to do: "fairlead upgrade status ${facts.name}"`,
        since,
        calls: 'Maintaining',
      });
    if (phase === 'Planned')
      return found({
        status: 'True',
        reason: 'AwaitingApproval',
        message: `${text}. Nothing else begins meanwhile. Read it and approve it ("fairlead upgrade status ${facts.name}"), or end it with "fairlead upgrade abort ${facts.name}"`,
        since,
        calls: 'Maintaining',
      });
  }
  // A kubelet that something else than Fairlead replaced is drift, and no upgrade.
  const nodes = staying(facts).filter(({ drift }) => drift === undefined);
  const all = versionsOf(nodes);
  // Workers may stay behind on purpose; after an upgrade that was aborted they were not meant to.
  const mixed = [
    versionsOf(nodes.filter(isControlPlane)),
    versionsOf(nodes.filter((node) => !isControlPlane(node))),
    ...(upgrade?.phase === 'Aborted' ? [all] : []),
  ].find((versions) => versions.length > 1);
  if (mixed === undefined) return isNot(upgrade?.since ?? facts.marks.ready ?? facts.createdAt);
  return found({
    status: 'True',
    reason: 'MixedVersions',
    message: `nodes have kubelets of several versions: ${mixed.join(', ')}. Finish the upgrade with "fairlead upgrade start ${facts.name} --to ${newestVersion(all) ?? '<version>'}"`,
    since: upgrade?.since ?? changedAt,
    calls: 'Maintaining',
  });
};

const PROGRESS: Readonly<Partial<Record<ConditionFacts['operations'][number]['kind'], ConditionReason>>> = {
  'add-nodes': 'NodesAdding',
  'remove-node': 'NodesRemoving',
  'replace-node': 'NodesReplacing',
  'replace-nodes': 'NodesReplacing',
};

const PROGRESS_WORDS: Readonly<Partial<Record<ConditionReason, string>>> = {
  NodesAdding: 'nodes are being added',
  NodesReplacing: 'nodes are being replaced',
};

export const progressing: Read = ({ operations, etcd, marks, createdAt }) => {
  const [running] = operations.filter(({ kind, state }) => state === 'running' && PROGRESS[kind] !== undefined);
  if (running !== undefined)
    return found({
      status: 'True',
      reason: PROGRESS[running.kind] ?? 'NodesAdding',
      message:
        PROGRESS_WORDS[PROGRESS[running.kind] ?? 'NodesAdding'] ?? `${running.node ?? 'a node'} is being removed`,
      since: running.since,
      calls: 'Maintaining',
    });
  const [first] = etcd;
  if (first === undefined) return isNot(marks.ready ?? createdAt);
  return found({
    status: 'True',
    reason: first.what === 'restore' ? 'EtcdRestoring' : 'EtcdSnapshot',
    message: first.what === 'restore' ? 'etcd is being restored from a snapshot' : 'a snapshot of etcd is being taken',
    since: first.since,
    calls: 'Maintaining',
  });
};

const DEFAULT_NAMESPACE = 'default';

export const paused: Read = ({ namespace, name, pause, resumedAt, createdAt }) => {
  if (pause === null) return isNot(resumedAt ?? createdAt);
  const resume = `fairlead cluster resume ${name}${namespace === DEFAULT_NAMESPACE ? '' : ` -n ${namespace}`}`;
  return found({
    status: 'True',
    reason: 'ClusterPaused',
    message: `no service acts on the cluster${pause.reason === '' ? '' : `: ${pause.reason}`}. Resume it with "${resume}"`,
    since: pause.since,
    calls: 'Paused',
  });
};

/** Derived from the time of reading: it ends with its cause, and neither a failed attempt nor a restart changes when a step began. */
export const stalled: Read = (facts) => {
  const { operations, pause, resumedAt, lease, hooks = {}, hooksLetGoAt, now, stalledAfterMs, createdAt } = facts;
  const steps = operations.flatMap((operation) => operation.steps);
  const late = steps.flatMap(({ title, startedAt }) => {
    // Neither a pause, nor a hook that holds a step, nor the time before the start of its lease counts as its time.
    const from = latestOf([startedAt, resumedAt ?? '', hooksLetGoAt ?? '', lease?.startsAt ?? ''], startedAt);
    const limitAt = new Date(Date.parse(from) + stalledAfterMs).toISOString();
    return limitAt <= now ? [{ title, from, limitAt }] : [];
  });
  const [first] = late.toSorted((one, other) => (one.limitAt < other.limitAt ? -1 : 1));
  if (first === undefined || pause !== null || Object.keys(hooks).length > 0)
    return isNot(
      latestOf(
        steps.map(({ startedAt }) => startedAt),
        resumedAt ?? createdAt,
      ),
    );
  const limit = `${Math.round(stalledAfterMs / MINUTE_MS)} min`;
  return found({
    status: 'True',
    reason: 'StepTimedOut',
    message: `the step "${first.title}" has been in progress since ${first.from}, longer than ${limit}. See its attempts with "fairlead cluster describe"`,
    since: first.limitAt,
    calls: 'Degraded',
  });
};

/** Of a cluster that declares hooks. */
export const hookBlocked: Read = ({ hooks = {}, createdAt }) => {
  const held = Object.values(hooks).toSorted((one, other) => (one.since < other.since ? -1 : 1));
  const [first] = held;
  if (first === undefined) return isNot(createdAt);
  const sentences = held.slice(0, NAMED_MAX).map((one) => {
    const { hook, point, node, message, since } = one;
    const what = `${point}${node === null ? '' : ` of ${node}`}`;
    const why = message === '' ? '' : `: ${message}`;
    return `paused by hook ${hook} (${what}) since ${since}${why} (${heldAttempts(one)})`;
  });
  return found({
    status: 'True',
    reason: held.some(({ failed }) => failed) ? 'HookFailed' : 'HookAsksForTime',
    message: `${sentences.join('; ')}. To go on without it, use "fairlead hook skip", or take the hook out of spec.hooks`,
    since: first.since,
    calls: held.some(({ failed }) => failed) ? 'Degraded' : 'Maintaining',
  });
};

/** Of a cluster with hooks that name a secret. */
export const hookSecretsPresent: Read = ({ unsigned, createdAt }) => {
  const { since = createdAt, hooks = [] } = unsigned ?? {};
  if (hooks.length === 0) return holds(since);
  const message = hooks.slice(0, NAMED_MAX).map(unsignedSentence).join('; ');
  return found({ status: 'False', reason: 'HookSecretMissing', message, since, calls: 'Degraded' });
};
