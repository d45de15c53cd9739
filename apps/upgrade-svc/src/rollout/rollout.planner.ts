import { jobOf } from './operation.planner.js';
import { keyOf, type AnyRolloutJob, type RolloutJob } from './rollout.jobs.js';
import { trackedOf, type KnownCluster, type Rollout, type Upgrade } from './rollout.state.js';

/** Soft taints that a roll-out has left when it ended. */
const tidying = ({ uid, nodes }: KnownCluster, { id, run, marked }: Upgrade): readonly AnyRolloutJob[] => {
  const left = marked.filter((node) => nodes[node] !== undefined);
  return left.length === 0 ? [] : [{ uid, upgradeId: id, run, type: 'UnmarkWorkers', nodes: left }];
};

/**
 * Every job that is wanted now: what the process asks for, and what a job looks at before it begins. What is to be said comes
 * from advance.planner.ts.
 */
export const jobs = (state: Rollout): readonly AnyRolloutJob[] => {
  if (state.status === 'absent' || state.life === 'deleting' || state.upgrade === null) return [];
  const { upgrade } = state;
  switch (upgrade.status) {
    case 'checking':
      return [{ uid: state.uid, upgradeId: upgrade.id, run: upgrade.run, type: 'CheckUpgrade' }];
    case 'running':
      return trackedOf(upgrade).flatMap((tracked) => {
        const job = jobOf(state, upgrade, tracked);
        return job === null ? [] : [job];
      });
    case 'ended':
      return tidying(state, upgrade);
    case 'rejected':
    case 'planned':
      return [];
  }
};

/** The job as it is wanted now: a handler works on this one, for what was delivered may be older than the state. */
export const currentJob = (state: Rollout, job: RolloutJob): AnyRolloutJob | undefined =>
  state.status === 'absent' || state.uid !== job.uid
    ? undefined
    : jobs(state).find(
        (wanted) => wanted.upgradeId === job.upgradeId && wanted.run === job.run && keyOf(wanted) === keyOf(job),
      );

/** Whether somebody still wants the job. */
export const isWanted = (state: Rollout, job: RolloutJob): boolean =>
  job.type === 'AdvanceRollout'
    ? state.status === 'known' && state.uid === job.uid
    : currentJob(state, job) !== undefined;
