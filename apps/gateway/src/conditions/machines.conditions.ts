import { reasonCodeOf } from '@fairlead/contracts';
import type { NodeFacts } from './condition.facts.js';
import { NAMED_MAX, earliestOf, found, holds, latestOf, named, type Read, type Reading } from './condition.reading.js';

const DELETION_FAILED = 'MachineDeletionFailed';

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

export const machinesReady: Read = (facts) => {
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
  const isDeletion = reasonCodeOf(reason) === DELETION_FAILED;
  return found({
    status: 'False',
    reason: isDeletion ? 'RemovalStuck' : 'NodesFailed',
    message: isDeletion
      ? message
      : `nodes could not be added: ${message}. Repair the cause, then retry, or request them again`,
    since: changedAt,
    calls: 'Degraded',
  });
};

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
export const machinesPresent: Read = ({ nodes, marks, createdAt }) => {
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
