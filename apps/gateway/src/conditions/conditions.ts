import {
  earlierBy,
  f1Expiring,
  isIdentityAwaited,
  lateOfKubelets,
  nextRunAfter,
  unsignedSentence,
  type ClusterLifeState,
  type ConditionReason,
  type ConditionType,
  type ConditionView,
} from '@fairlead/contracts';
import type { ConditionFacts, NodeFacts, StepFacts } from './condition.facts.js';

/** A condition as it is now, and which state of life it calls for; absent: none. */
export interface Reading extends Omit<ConditionView, 'type'> {
  readonly calls?: ClusterLifeState;
}

type Read = (facts: ConditionFacts) => Reading;

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Certificates that end sooner were not renewed in time: renewal begins 90 days before the end. */
const CERTIFICATES_ENDING_MS = 30 * DAY_MS;
/** A message names no more than these. */
const NAMED_MAX = 5;

const named = (names: readonly string[]): string => {
  const others = names.length - NAMED_MAX;
  return `${names.slice(0, NAMED_MAX).join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
};

const latestOf = (times: readonly string[], otherwise: string): string =>
  times.reduce((one, other) => (one > other ? one : other), times[0] ?? otherwise);

const earliestOf = (times: readonly string[], otherwise: string): string =>
  times.reduce((one, other) => (one < other ? one : other), times[0] ?? otherwise);

const holds = (since: string): Reading => ({ status: 'True', reason: '', message: '', lastTransitionTime: since });

/** Of a condition that is True when something is wrong or in progress. */
const isNot = (since: string): Reading => ({ ...holds(since), status: 'False' });

interface Found {
  readonly status: 'True' | 'False';
  readonly reason: ConditionReason;
  readonly message: string;
  readonly since: string;
  readonly calls?: ClusterLifeState;
}

const found = ({ since, ...reading }: Found): Reading => ({ ...reading, lastTransitionTime: since });

type Mark = keyof ConditionFacts['marks'];

/** A stage of the creation: it is passed, in progress, or the cluster failed before it. */
const stage =
  (mark: Mark): Read =>
  ({ marks, phase, reason, message, changedAt, createdAt }) => {
    const passedAt = marks[mark];
    if (passedAt !== undefined) return holds(passedAt);
    if (phase === 'Failed') return { status: 'False', reason, message, lastTransitionTime: changedAt };
    return { status: 'Unknown', reason: 'InProgress', message, lastTransitionTime: createdAt };
  };

/** Only what the creation has passed can be lost again. */
const after =
  (mark: Mark, read: Read): Read =>
  (facts) =>
    facts.marks[mark] === undefined ? stage(mark)(facts) : read(facts);

const isControlPlane = ({ role }: NodeFacts): boolean => role === 'control-plane';

const CHANGING: ReadonlySet<string> = new Set(['Planning', 'Approved', 'Running', 'Paused', 'Aborting']);

/** While an upgrade or a restore is in progress, nodes are not Ready in turn, and both have limits of their own. */
const restarts = ({ upgrade, etcd }: ConditionFacts): boolean =>
  (upgrade !== null && CHANGING.has(upgrade.phase)) || etcd.some(({ what }) => what === 'restore');

const whenNodesAreAway = (facts: ConditionFacts): ClusterLifeState => (restarts(facts) ? 'Maintaining' : 'Degraded');

/** Of those that were Ready once and are meant to stay. */
const staying = ({ nodes }: ConditionFacts): readonly NodeFacts[] =>
  nodes.filter(({ wasReady, isRemoving }) => wasReady && !isRemoving);

const timesOf = (some: readonly { readonly since: string }[]): readonly string[] => some.map(({ since }) => since);

const failedAddons = ({ addons }: ConditionFacts) => (addons?.addons ?? []).filter(({ phase }) => phase === 'Failed');

const available: Read = (facts) => {
  const { nodes, marks } = facts;
  const controlPlanes = nodes.filter(isControlPlane);
  const ready = controlPlanes.filter(({ isReady }) => isReady);
  const quorum = Math.floor(controlPlanes.length / 2) + 1;
  const since = marks.controlPlane ?? '';
  // The one that made or broke the majority, in the order in which they changed.
  if (ready.length >= quorum) return holds(latestOf([since, timesOf(ready).toSorted()[quorum - 1] ?? since], since));
  const away = timesOf(controlPlanes.filter(({ isReady }) => !isReady)).toSorted();
  // Its majority is itself: it is lost whenever the node restarts. Of several, no upgrade stops a majority.
  if (controlPlanes.length === 1 && restarts(facts))
    return found({
      status: 'False',
      reason: 'ControlPlanesNotReady',
      message: `the only control plane restarts during ${facts.upgrade === null ? 'the restore of etcd' : 'the upgrade'}: the Kubernetes API may not answer meanwhile`,
      since: away[0] ?? since,
      calls: 'Maintaining',
    });
  return found({
    status: 'False',
    reason: 'QuorumLost',
    message: `${ready.length} of ${controlPlanes.length} control planes are Ready, and ${quorum} are needed: the Kubernetes API may not answer. Repair a control plane, or restore etcd from a snapshot`,
    since: away[controlPlanes.length - quorum] ?? since,
    calls: 'Degraded',
  });
};

const controlPlaneReady: Read = (facts) => {
  const controlPlanes = staying(facts).filter(isControlPlane);
  const away = controlPlanes.filter(({ isReady }) => !isReady);
  const since = facts.marks.controlPlane ?? facts.createdAt;
  if (away.length === 0) return holds(latestOf([since, ...timesOf(controlPlanes)], since));
  return found({
    status: 'False',
    reason: 'ControlPlanesNotReady',
    message: `not Ready: ${named(away.map(({ name }) => name))}. Look at the host and its kubelet`,
    since: earliestOf(timesOf(away), since),
    calls: whenNodesAreAway(facts),
  });
};

const nodesReady: Read = (facts) => {
  const nodes = staying(facts);
  const away = nodes.filter(({ isReady }) => !isReady);
  const since = facts.marks.ready ?? facts.createdAt;
  if (away.length === 0) return holds(latestOf([since, ...timesOf(nodes)], since));
  const lost = away.filter(({ isLost }) => isLost);
  const names = (some: readonly NodeFacts[]): string => named(some.map(({ name }) => name));
  return found({
    status: 'False',
    reason: lost.length > 0 ? 'NodesLost' : 'NodesNotReady',
    message:
      lost.length > 0
        ? `no heartbeat from ${names(lost)}. Check that the machine runs and reaches NATS`
        : `not Ready: ${names(away)}. Look at the host and its kubelet`,
    since: earliestOf(timesOf(away), since),
    calls: whenNodesAreAway(facts),
  });
};

const DELETION_FAILED = 'DeleteMCISFailedReason';

/** They go on by themselves once their pods may leave. */
const drainBlocked = (blocked: readonly NonNullable<NodeFacts['drain']>[], since: string): Reading =>
  found({
    status: 'False',
    reason: 'DrainBlocked',
    message: `${blocked
      .map(({ message }) => message)
      .slice(0, NAMED_MAX)
      .join('; ')}. Let the pods leave, or set spec.drain.timeout in the manifest`,
    since: earliestOf(
      blocked.map((drain) => drain.since),
      since,
    ),
    calls: 'Degraded',
  });

const machinesReady: Read = (facts) => {
  const { operations, reason, message, changedAt, phase, marks } = facts;
  const stuck = operations.filter(({ kind, state }) => kind === 'remove-node' && state === 'failed');
  const since = marks.machines ?? facts.createdAt;
  if (stuck.length > 0)
    return found({
      status: 'False',
      reason: 'RemovalStuck',
      message: `the removal of ${named(stuck.flatMap(({ node }) => node ?? []))} failed: ${stuck[0]?.message ?? ''}. Repair the cause, then retry`,
      since: earliestOf(
        stuck.map((operation) => operation.since),
        since,
      ),
      calls: 'Degraded',
    });
  const blocked = facts.nodes.flatMap(({ drain }) => drain ?? []);
  if (blocked.length > 0) return drainBlocked(blocked, since);
  if (phase !== 'Provisioned' || reason === '') return holds(since);
  return found({
    status: 'False',
    reason: reason === DELETION_FAILED ? 'RemovalStuck' : 'NodesFailed',
    message:
      reason === DELETION_FAILED
        ? message
        : `nodes could not be added: ${message}. Repair the cause, then retry, or request them again`,
    since: changedAt,
    calls: 'Degraded',
  });
};

const versionsOf = (nodes: readonly NodeFacts[]): readonly string[] =>
  [...new Set(nodes.flatMap(({ kubelet }) => (kubelet === undefined ? [] : [kubelet.replace(/^v?/, 'v')])))].toSorted();

const KEPT: Readonly<Record<NodeFacts['role'], string>> = {
  'control-plane': 'its kubelet, its certificates and etcd keep',
  worker: 'its kubelet keeps',
};

const moved = ({ name, role, moved: at }: NodeFacts): readonly { readonly since: string; readonly text: string }[] =>
  at === undefined
    ? []
    : [
        {
          since: at.since,
          text: `${name}: its private address was ${at.from} and is ${at.to}; ${KEPT[role]} the former one. Replace it with "fairlead node replace"`,
        },
      ];

/** What the looks at providers have found. */
const machinesPresent: Read = ({ nodes, marks, createdAt }) => {
  const away = nodes.flatMap(({ name, away: seen }) =>
    seen === undefined ? [] : [{ since: seen.since, text: `${name}: ${seen.message}` }],
  );
  const all = [...away, ...nodes.flatMap(moved)];
  if (all.length === 0) return holds(marks.machines ?? createdAt);
  return found({
    status: 'False',
    reason: away.length > 0 ? 'MachinesAway' : 'MachinesMoved',
    message: all.map(({ text }) => text).join('; '),
    since: latestOf(
      all.map(({ since }) => since),
      createdAt,
    ),
    calls: 'Degraded',
  });
};

/** What the looks at Kubernetes have found. */
const nodesPresent: Read = ({ presence, marks, createdAt }) => {
  const { missing = {}, strangers = {}, since = marks.ready ?? createdAt } = presence ?? {};
  const [gone, strange] = [Object.keys(missing), Object.keys(strangers)];
  if (gone.length + strange.length === 0) return holds(since);
  const sentences = [
    ...(gone.length === 0
      ? []
      : [`Kubernetes has no Node object of ${named(gone)}: restart its kubelet, or replace the node`]),
    ...(strange.length === 0
      ? []
      : [
          `no machine is recorded of ${named(strange)}: find out who added it. One that stays not Ready is deleted from Kubernetes, after an hour by default; one that is Ready never is`,
        ]),
  ];
  return found({
    status: 'False',
    reason: gone.length === 0 ? 'NodesWithoutMachine' : 'NodesMissing',
    message: sentences.join('; '),
    since: earliestOf([...Object.values(missing), ...Object.values(strangers)], since),
    calls: 'Degraded',
  });
};

/** Of a cluster that declares a firewall or SSH servers. */
const networkApplied: Read = ({ nodes, createdAt }) => {
  const all = nodes.flatMap(({ name, network, isRemoving }) =>
    network === undefined || isRemoving ? [] : [{ name, ...network }],
  );
  const failed = all.filter(({ state }) => state === 'failed');
  const waiting = all.filter(({ state }) => state === 'waiting');
  const since = (some: typeof all): string =>
    earliestOf(
      some.map((node) => node.since),
      createdAt,
    );
  if (failed.length > 0)
    return found({
      status: 'False',
      reason: 'NetworkFailed',
      message: `${failed
        .slice(0, NAMED_MAX)
        .map(({ name, message }) => `${name}: ${message}`)
        .join(
          '; ',
        )}${failed.length > NAMED_MAX ? ` and ${failed.length - NAMED_MAX} more nodes` : ''}. Change the manifest, or repair the cause and run "fairlead cluster retry-network"`,
      since: since(failed),
      calls: 'Degraded',
    });
  if (waiting.length > 0)
    return found({
      status: 'False',
      reason: 'NetworkWaiting',
      message: `the agents of ${named(waiting.map(({ name }) => name))} have not applied it yet`,
      since: since(waiting),
      calls: 'Maintaining',
    });
  return holds(
    latestOf(
      all.map((node) => node.since),
      createdAt,
    ),
  );
};

/** Of a cluster that declares hooks. */
const hookBlocked: Read = ({ hooks = {}, createdAt }) => {
  const held = Object.values(hooks).toSorted((one, other) => (one.since < other.since ? -1 : 1));
  const [first] = held;
  if (first === undefined) return isNot(createdAt);
  const sentences = held.slice(0, NAMED_MAX).map(({ hook, point, node, message, since, nextAttemptAt }) => {
    const what = `${point}${node === null ? '' : ` of ${node}`}`;
    const why = message === '' ? '' : `: ${message}`;
    return `paused by hook ${hook} (${what}) since ${since}${why}; next attempt at ${nextAttemptAt}`;
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
const hookSecretsPresent: Read = ({ unsigned, createdAt }) => {
  const { since = createdAt, hooks = [] } = unsigned ?? {};
  if (hooks.length === 0) return holds(since);
  const message = hooks.slice(0, NAMED_MAX).map(unsignedSentence).join('; ');
  return found({ status: 'False', reason: 'HookSecretMissing', message, since, calls: 'Degraded' });
};

/** Of a cluster with an addon that has failed. */
const addonsHealthy: Read = (facts) => {
  const failed = failedAddons(facts);
  const since = facts.marks.ready ?? facts.createdAt;
  if (failed.length === 0) return holds(since);
  return found({
    status: 'False',
    reason: 'AddonsFailed',
    message: failed.map(({ name, message }) => `${name}: ${message}`).join('; '),
    since: earliestOf(timesOf(failed), since),
    calls: whenNodesAreAway(facts),
  });
};

/** Of a cluster with a health check. */
const remediationAllowed: Read = ({ health, createdAt }) => {
  const suspended = Object.values(health?.suspended ?? {});
  if (suspended.length === 0) return holds(health?.since ?? createdAt);
  return found({
    status: 'False',
    reason: 'RemediationSuspended',
    message: suspended.map(({ message }) => message).join('; '),
    since: earliestOf(
      suspended.map(({ since }) => since),
      createdAt,
    ),
    calls: 'Degraded',
  });
};

/** Of a cluster that declares virtual addresses. That nothing answers behind one is up to what runs in the cluster. */
const virtualAddressesReady: Read = ({ addresses, marks, createdAt }) => {
  const since = marks.ready ?? createdAt;
  const unheld = addresses.filter(({ holder }) => holder === null);
  if (unheld.length > 0) {
    const isConfiguring = unheld.every((one) => one.isConfiguring);
    return found({
      status: 'False',
      reason: 'AddressNotHeld',
      message: `no node holds ${named(unheld.map(({ name, address }) => `${name} (${address})`))}. ${isConfiguring ? 'Nodes are being configured for it' : 'Look at fairlead-addresses-keepalived on nodes of its holders'}`,
      since,
      calls: isConfiguring ? 'Maintaining' : 'Degraded',
    });
  }
  const last = latestOf(
    addresses.map((one) => one.since ?? since),
    since,
  );
  const portsOf = (which: 'unreached' | 'empty'): readonly string[] =>
    addresses.flatMap((one) => one[which].map((transport) => `${one.name}/${transport}`));
  const [unreached, empty] = [portsOf('unreached'), portsOf('empty')];
  if (unreached.length > 0)
    return found({
      status: 'False',
      reason: 'AddressUnreachable',
      message: `the node that holds the address gets no connection on ${named(unreached)}. Look at fairlead-addresses-haproxy there`,
      since: last,
      calls: 'Degraded',
    });
  if (empty.length > 0)
    return {
      status: 'False',
      reason: 'UpstreamsDown',
      message: `no node answers behind ${named(empty)}. Look at the service, and at the health check in the manifest`,
      lastTransitionTime: last,
    };
  return holds(last);
};

/** How long a snapshot may take, with its verification and all attempts. */
const BACKUP_MAX_MS = 2 * 60 * MINUTE_MS;

/** Derived from the time of reading: no service has to be there to notice. */
const overdueSince = ({ backups, pause, resumedAt, marks }: ConditionFacts): string | null => {
  const ready = marks.ready;
  if (backups === undefined || ready === undefined || pause !== null) return null;
  const from = latestOf([backups.lastGoodAt ?? backups.since, resumedAt ?? ready, ready], ready);
  const run = nextRunAfter(backups.policy, from);
  return run === null ? null : new Date(Date.parse(run) + BACKUP_MAX_MS).toISOString();
};

const ageOf = ({ backups, now }: ConditionFacts): string =>
  backups?.lastGoodAt === undefined
    ? 'no good snapshot is known'
    : `the last good snapshot is ${Math.round((Date.parse(now) - Date.parse(backups.lastGoodAt)) / MINUTE_MS)} min old`;

/** Of a cluster whose etcd is saved by schedule. */
const backupsHealthy: Read = (facts) => {
  const { backups, now, createdAt } = facts;
  const failed = backups?.failed;
  if (failed !== undefined)
    return found({
      status: 'False',
      reason: failed.what === 'snapshot' ? 'BackupFailed' : 'BackupNotVerified',
      message: `${failed.message}; ${ageOf(facts)}. See "fairlead etcd snapshots"`,
      since: failed.since,
      calls: 'Degraded',
    });
  const overdue = overdueSince(facts);
  if (overdue === null || overdue > now) return holds(backups?.lastGoodAt ?? backups?.since ?? createdAt);
  return found({
    status: 'False',
    reason: 'BackupOverdue',
    message: `no snapshot of etcd came of a run of its schedule; ${ageOf(facts)}. Check that upgrade-svc and bootstrap-svc run`,
    since: overdue,
    calls: 'Degraded',
  });
};

const upgrading: Read = (facts) => {
  const { upgrade, changedAt } = facts;
  if (upgrade !== null) {
    const { id, phase, message, since } = upgrade;
    const text = `upgrade ${id} is ${phase}${message === '' ? '' : `: ${message}`}`;
    if (phase === 'Halted')
      return found({ status: 'True', reason: 'UpgradeHalted', message: text, since, calls: 'Degraded' });
    if (CHANGING.has(phase))
      return found({ status: 'True', reason: 'UpgradeRunning', message: text, since, calls: 'Maintaining' });
    if (phase === 'Planned') return { ...isNot(since), reason: 'AwaitingApproval', message: text };
  }
  const mixed = [
    versionsOf(staying(facts).filter(isControlPlane)),
    versionsOf(staying(facts).filter((node) => !isControlPlane(node))),
  ].find((versions) => versions.length > 1);
  if (mixed === undefined) return isNot(upgrade?.since ?? facts.marks.ready ?? facts.createdAt);
  return found({
    status: 'True',
    reason: 'MixedVersions',
    message: `nodes of one role have kubelets of several versions: ${mixed.join(', ')}. Finish the upgrade with "fairlead upgrade start"`,
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

const progressing: Read = ({ operations, etcd, marks, createdAt }) => {
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

const paused: Read = ({ namespace, name, pause, resumedAt, createdAt }) => {
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
const stalled: Read = (facts) => {
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

/** Of a cluster whose machines are reserved. No state follows from it: a creation without its reservation has failed already. */
const reserved: Read = ({ lease, createdAt }) => {
  const { reservations = [], startsAt = null, changedAt: lastTransitionTime = createdAt } = lease ?? {};
  const denied = reservations.find(({ phase }) => phase === 'Denied');
  if (denied !== undefined) {
    const message = `${denied.message}. Retry when the capacity is there, or delete the cluster`;
    return { status: 'False', reason: 'ReservationDenied', message, lastTransitionTime };
  }
  const pending = reservations.filter(({ phase }) => phase === 'Pending').map(({ connection }) => connection);
  if (pending.length > 0) {
    const message = `the reservation on ${named(pending)} ${startsAt === null ? 'has not begun' : `begins at ${startsAt}`}`;
    return { status: 'Unknown', reason: 'ReservationPending', message, lastTransitionTime };
  }
  const kept = reservations.find(({ message }) => message !== '');
  if (kept === undefined) return holds(lastTransitionTime);
  return {
    ...holds(lastTransitionTime),
    reason: 'ReservationDenied',
    message: `another end was denied: ${kept.message}`,
  };
};

const HELD_BY_PAUSE =
  ', and the pause holds its deletion: it begins when the cluster is resumed, unless a later end is declared with that';

/** Of a cluster with an end. Derived from the time of reading, as its warnings are from the clock; no state follows from it. */
const expiring: Read = ({ lease, name, pause, now, createdAt }) => {
  if (lease === undefined) return isNot(createdAt);
  const { endsAt, deletionAt, warnings, since } = lease;
  const until = `the cluster is deleted at ${deletionAt}, before its lease ends at ${endsAt}`;
  if (deletionAt <= now) {
    const message = `the lease ends at ${endsAt}${pause === null ? '' : HELD_BY_PAUSE}`;
    return { status: 'True', reason: 'LeaseOver', message, lastTransitionTime: deletionAt };
  }
  const moments = warnings.map((warning) => earlierBy(endsAt, warning));
  const begin = earliestOf(moments, deletionAt);
  if (begin > now) return { ...isNot(since), message: until };
  const message = `${until}. Keep it longer with "fairlead cluster extend ${name} --until TIME"`;
  return { status: 'True', reason: 'LeaseEnding', message, lastTransitionTime: latestOf([begin, since], since) };
};

const before = (time: string, ms: number): string => new Date(Date.parse(time) - ms).toISOString();

const certificatesValid: Read = ({ certificates, marks, createdAt, now }) => {
  const ending = f1Expiring(certificates, now)
    .filter(({ expiresAt }) => before(expiresAt, CERTIFICATES_ENDING_MS) <= now)
    .toSorted((one, other) => (one.expiresAt < other.expiresAt ? -1 : 1));
  const [first] = ending;
  const late = lateOfKubelets(certificates, now);
  if (first === undefined && late.length === 0) return holds(marks.controlPlane ?? createdAt);
  const sentences = [
    ...(first === undefined
      ? []
      : [
          `${first.name} on ${first.node} expires at ${first.expiresAt}. Renew the certificates with "fairlead certificates renew"`,
        ]),
    ...(late.length === 0
      ? []
      : [
          `the kubelets of ${named(late.map(({ node }) => node))} have not renewed their certificates, and leave the cluster when they end. Look at their logs and at the CertificateSigningRequests, or replace the nodes`,
        ]),
  ];
  const ends = [...ending, ...late].map(({ expiresAt }) => expiresAt);
  return found({
    status: 'False',
    reason: 'CertificatesEnding',
    message: sentences.join('; '),
    since: before(earliestOf(ends, now), CERTIFICATES_ENDING_MS),
    calls: 'Degraded',
  });
};

const quarantined: Read = ({ quarantined: services, marks, createdAt }) => {
  const [first] = services;
  if (first === undefined) return isNot(marks.accepted ?? createdAt);
  return found({
    status: 'True',
    reason: 'EventsQuarantined',
    message: `${named(services.map(({ service }) => service))} cannot process the events of the cluster: ${first.error}. See "fairlead quarantine list"`,
    since: first.since,
    calls: 'Degraded',
  });
};

const connectionsVerified: Read = ({ unverified, marks, createdAt }) => {
  const [first] = unverified;
  if (first === undefined) return holds(marks.accepted ?? createdAt);
  return found({
    status: 'False',
    reason: 'ConnectionUnverified',
    message: `connection ${first.name} could not be verified: ${first.problem}. Repair it, then run "fairlead connection verify ${first.name}"`,
    since: first.since,
    calls: 'Degraded',
  });
};

const providerStep = ({ operations }: ConditionFacts): StepFacts | undefined =>
  operations.flatMap(({ steps }) => steps).find(({ ofProvider }) => ofProvider);

/** Statements of a replica that has ended are over by themselves. */
const busyNow = ({ busy, now }: ConditionFacts): ConditionFacts['busy'] => busy.filter(({ until }) => until > now);

const LIFE_OF: Readonly<Partial<Record<ConditionFacts['phase'], ClusterLifeState>>> = {
  Deleting: 'Deleting',
  Provisioned: 'Maintaining',
};

/** Of a cluster that is in a step of its provider: whether it waits for a place or has one, only the replica knows. */
const waitingForConnection: Read = (facts) => {
  const [first] = busyNow(facts);
  const step = providerStep(facts);
  if (first === undefined || step === undefined) return isNot(facts.createdAt);
  const { name, tasks, places, since, takenSince } = first;
  const wait = `${tasks} task${tasks === 1 ? ' waits' : 's wait'} for one of the ${places} places of connection ${name}`;
  return found({
    status: 'True',
    reason: 'ConnectionBusy',
    message: `${wait}, and some have been taken since ${takenSince}: its provider answers slowly, or not at all. The step "${step.title}" of the cluster waits for a place or has one, and goes on by itself`,
    since: latestOf([since, step.startedAt], since),
    calls: LIFE_OF[facts.phase] ?? 'Provisioning',
  });
};

const whole: Read = (facts) => {
  const base = stage('ready')(facts);
  const away = facts.nodes.filter(({ isReady, isRemoving }) => !isReady && !isRemoving);
  if (facts.phase === 'Deleting')
    return { status: 'False', reason: 'Deleting', message: '', lastTransitionTime: facts.changedAt, calls: 'Deleting' };
  if (facts.phase === 'Failed') return { ...base, calls: 'Failed' };
  if (facts.phase !== 'Provisioned') return { ...base, calls: 'Provisioning' };
  if (base.status !== 'True' || away.length === 0) return base;
  return {
    status: 'False',
    reason: 'NodesNotReady',
    message: `not Ready: ${named(away.map(({ name }) => name))}`,
    lastTransitionTime: latestOf(timesOf(away), facts.changedAt),
  };
};

/** Of a cluster whose users sign in at an identity realm. While it is created, it waits; later its users keep what they have. */
const identityReady: Read = ({ identity, phase, createdAt }) => {
  const { selection = null, has = { held: {} }, since = createdAt } = identity ?? {};
  const { blocked } = has;
  if (blocked !== undefined)
    return found({
      status: 'False',
      reason: blocked.reason,
      message: blocked.message,
      since: blocked.since,
      ...(phase === 'Provisioned' ? { calls: 'Degraded' } : {}),
    });
  if (!isIdentityAwaited(has, selection)) return holds(since);
  return { status: 'Unknown', reason: 'InProgress', message: '', lastTransitionTime: since };
};

interface ConditionDefinition {
  readonly type: ConditionType;
  readonly read: Read;
  /** Absent: always. */
  readonly isShown?: (facts: ConditionFacts) => boolean;
}

/** All conditions of a cluster, in the order in which they are shown. To add one: its type and reasons in the contracts, and an entry here. */
const CONDITIONS: readonly ConditionDefinition[] = [
  { type: 'Accepted', read: stage('accepted') },
  { type: 'InfrastructureReady', read: stage('machines') },
  { type: 'ControlPlaneReady', read: after('controlPlane', controlPlaneReady) },
  { type: 'NetworkReady', read: stage('network') },
  { type: 'Ready', read: whole },
  { type: 'Available', read: after('controlPlane', available) },
  { type: 'NodesReady', read: after('ready', nodesReady) },
  { type: 'MachinesReady', read: after('machines', machinesReady) },
  { type: 'MachinesPresent', read: after('machines', machinesPresent) },
  { type: 'NodesPresent', read: after('ready', nodesPresent) },
  {
    type: 'NetworkApplied',
    read: networkApplied,
    isShown: ({ nodes }) => nodes.some(({ network }) => network !== undefined),
  },
  {
    type: 'VirtualAddressesReady',
    read: after('ready', virtualAddressesReady),
    isShown: ({ addresses }) => addresses.length > 0,
  },
  { type: 'HookBlocked', read: hookBlocked, isShown: ({ hooks }) => hooks !== undefined },
  { type: 'HookSecretsPresent', read: hookSecretsPresent, isShown: ({ unsigned }) => unsigned !== undefined },
  { type: 'AddonsHealthy', read: after('ready', addonsHealthy), isShown: (facts) => failedAddons(facts).length > 0 },
  { type: 'RemediationAllowed', read: remediationAllowed, isShown: ({ health }) => health !== undefined },
  { type: 'BackupsHealthy', read: backupsHealthy, isShown: ({ backups }) => backups !== undefined },
  { type: 'IdentityReady', read: identityReady, isShown: ({ identity }) => identity !== undefined },
  { type: 'Reserved', read: reserved, isShown: ({ lease }) => (lease?.reservations.length ?? 0) > 0 },
  { type: 'Expiring', read: expiring, isShown: ({ lease }) => lease !== undefined },
  { type: 'Upgrading', read: upgrading },
  { type: 'Progressing', read: progressing },
  { type: 'Paused', read: paused },
  { type: 'Stalled', read: stalled },
  { type: 'CertificatesValid', read: certificatesValid },
  { type: 'ConnectionsVerified', read: connectionsVerified },
  {
    type: 'WaitingForConnection',
    read: waitingForConnection,
    isShown: (facts) => busyNow(facts).length > 0 && providerStep(facts) !== undefined,
  },
  { type: 'Quarantined', read: quarantined },
];

export interface Condition extends Reading {
  readonly type: ConditionType;
}

export const conditionsOf = (facts: ConditionFacts): readonly Condition[] =>
  CONDITIONS.filter(({ isShown }) => isShown?.(facts) ?? true).map(({ type, read }) => ({ type, ...read(facts) }));

/** The first state that a condition calls for is that of the cluster. */
export const PRECEDENCE: readonly ClusterLifeState[] = [
  'Deleting',
  'Paused',
  'Failed',
  'Provisioning',
  'Degraded',
  'Maintaining',
  'Running',
];

/** How the cluster is, and the conditions that make it so. */
export interface Life {
  readonly state: ClusterLifeState;
  readonly because: readonly Condition[];
}

export const lifeOf = (conditions: readonly Condition[]): Life => {
  const state = PRECEDENCE.find((one) => conditions.some(({ calls }) => calls === one)) ?? 'Running';
  return { state, because: conditions.filter(({ calls }) => calls === state) };
};

export const conditionView = ({ calls: _calls, ...view }: Condition): ConditionView => view;
