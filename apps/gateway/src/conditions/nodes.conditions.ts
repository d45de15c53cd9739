import type { ConditionFacts, NodeFacts } from './condition.facts.js';
import {
  earliestOf,
  found,
  holds,
  isControlPlane,
  latestOf,
  named,
  NAMED_MAX,
  restarts,
  stage,
  staying,
  timesOf,
  whenNodesAreAway,
  type Read,
} from './condition.reading.js';

/** Its software is being changed, or that failed: its agent reports, and does not call it Ready before the change is done. */
const isChanging = ({ isReady, isLost, isBeingChanged }: NodeFacts): boolean =>
  !isReady && !isLost && isBeingChanged === true;

const seeUpgrade = ({ name }: ConditionFacts): string => `See "fairlead upgrade status ${name}"`;

/** A node that an upgrade changes is not Ready meanwhile, and that is no reason to look at its host. */
const notReady = (facts: ConditionFacts, away: readonly NodeFacts[]): string => {
  const names = named(away.map(({ name }) => name));
  return away.every(isChanging)
    ? `being changed: ${names}. ${seeUpgrade(facts)}`
    : `not Ready: ${names}. Look at the host and its kubelet`;
};

export const available: Read = (facts) => {
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
      message: `the only control plane restarts during ${facts.etcd.some(({ what }) => what === 'restore') ? 'the restore of etcd' : 'the upgrade'}: the Kubernetes API may not answer meanwhile`,
      since: away[0] ?? since,
      calls: 'Maintaining',
    });
  // A node whose change is not done is not Ready for Fairlead, whatever Kubernetes says of it: nothing of that is a reason for a restore.
  const changing = controlPlanes.filter(isChanging);
  if (ready.length + changing.length >= quorum)
    return found({
      status: 'False',
      reason: 'ControlPlanesNotReady',
      message: `the change of ${named(changing.map(({ name }) => name))} is not done: the Kubernetes API may answer nevertheless ("kubectl get --raw /readyz"). ${seeUpgrade(facts)}`,
      since: away[controlPlanes.length - quorum] ?? since,
      calls: whenNodesAreAway(facts),
    });
  return found({
    status: 'False',
    reason: 'QuorumLost',
    message: `${ready.length} of ${controlPlanes.length} control planes are Ready, and ${quorum} are needed: the Kubernetes API may not answer. Repair a control plane first. Restore etcd from a snapshot only if too few of its members can be repaired`,
    since: away[controlPlanes.length - quorum] ?? since,
    calls: 'Degraded',
  });
};

export const controlPlaneReady: Read = (facts) => {
  const controlPlanes = staying(facts).filter(isControlPlane);
  const away = controlPlanes.filter(({ isReady }) => !isReady);
  const since = facts.marks.controlPlane ?? facts.createdAt;
  if (away.length === 0) return holds(latestOf([since, ...timesOf(controlPlanes)], since));
  return found({
    status: 'False',
    reason: away.every(isChanging) ? 'NodesChanging' : 'ControlPlanesNotReady',
    message: notReady(facts, away),
    since: earliestOf(timesOf(away), since),
    calls: whenNodesAreAway(facts),
  });
};

export const nodesReady: Read = (facts) => {
  const nodes = staying(facts);
  const away = nodes.filter(({ isReady }) => !isReady);
  const since = facts.marks.ready ?? facts.createdAt;
  if (away.length === 0) return holds(latestOf([since, ...timesOf(nodes)], since));
  const lost = away.filter(({ isLost }) => isLost);
  const names = (some: readonly NodeFacts[]): string => named(some.map(({ name }) => name));
  return found({
    status: 'False',
    reason: lost.length > 0 ? 'NodesLost' : away.every(isChanging) ? 'NodesChanging' : 'NodesNotReady',
    message:
      lost.length > 0
        ? `no heartbeat from ${names(lost)}. Check that the machine runs and reaches NATS`
        : notReady(facts, away),
    since: earliestOf(timesOf(away), since),
    calls: whenNodesAreAway(facts),
  });
};

/** What the looks at Kubernetes have found. */
export const nodesPresent: Read = ({ presence, marks, createdAt }) => {
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

/** What agents have found different from what is desired of their nodes, outside of Fairlead's own changes. */
export const nodesAsDesired: Read = (facts) => {
  const since = facts.marks.ready ?? facts.createdAt;
  const drifted = staying(facts).flatMap(({ name, drift }) => (drift === undefined ? [] : [{ name, ...drift }]));
  if (drifted.length === 0) return holds(since);
  const sentences = drifted.slice(0, NAMED_MAX).map(({ name, differences, message }) => {
    const words = differences.map(
      ({ item, what, observed, desired }) => `${item} ${what} is ${observed}, not ${desired}`,
    );
    const drain = differences.some(({ needsDrain }) => needsDrain === true) ? ' (its repair needs a drain)' : '';
    return `${name}: ${words.slice(0, NAMED_MAX).join(', ')}${drain}${message === '' ? '' : `; ${message}`}`;
  });
  const others = drifted.length > NAMED_MAX ? ` and ${drifted.length - NAMED_MAX} more` : '';
  return found({
    status: 'False',
    reason: 'NodesDrifted',
    message: `${sentences.join('; ')}${others}`,
    since: earliestOf(timesOf(drifted), since),
    calls: whenNodesAreAway(facts),
  });
};

export const whole: Read = (facts) => {
  const base = stage('ready')(facts);
  const away = facts.nodes.filter(({ isReady, isRemoving }) => !isReady && !isRemoving);
  if (facts.phase === 'Deleting')
    return { status: 'False', reason: 'Deleting', message: '', lastTransitionTime: facts.changedAt, calls: 'Deleting' };
  if (facts.phase === 'Failed') return { ...base, calls: 'Failed' };
  if (facts.phase !== 'Provisioned') return { ...base, calls: 'Provisioning' };
  if (base.status !== 'True' || away.length === 0) return base;
  return {
    status: 'False',
    reason: away.every(isChanging) ? 'NodesChanging' : 'NodesNotReady',
    message: away.every(isChanging) ? notReady(facts, away) : `not Ready: ${named(away.map(({ name }) => name))}`,
    lastTransitionTime: latestOf(timesOf(away), facts.changedAt),
  };
};
