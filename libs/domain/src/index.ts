export * from './application.fold.js';
export * from './attempts.js';
export * from './azimuth.phase.js';
export * from './cordon.marks.js';
export * from './creation.js';
export * from './etcd.saves.js';
export * from './executions.js';
export * from './hook.answers.js';
export * from './hooks.js';
export * from './host-keys.js';
export * from './identity.js';
export * from './publication.js';
export * from './kubeconfigs.js';
export * from './lifetime.js';
export * from './manifest/cluster.template.fold.js';
export * from './manifest/cluster.template.resolve.js';
export * from './manifest/machine.template.js';
export * from './manifest/manifest.diff.js';
export * from './manifest/manifest.fold.js';
export * from './manifest/manifest.plan.js';
export * from './manifest/merge.patch.js';
export * from './manifest/pool.status.js';
export * from './manifest/unmet.js';
export * from './manifest/victims.js';
export * from './members/departures.js';
export * from './members/health.js';
export * from './members/members.js';
export * from './members/readiness.js';
export * from './members/replacements.js';
export * from './narrative.js';
export * from './node.actions.js';
export * from './pause.js';
export * from './quorum.js';
export * from './registered.js';
export * from './releases.fold.js';
export { releaseFaults, type MachineFields } from './rules/cluster.rules.js';
export * from './rules/cluster.request.rules.js';
export * from './rules/document.faults.js';
export * from './rules/manifest.rules.js';
export * from './rules/request.faults.js';
export * from './rules/template.rules.js';
export {
  CAUSE_WORDS,
  causeBegunBy,
  concerns,
  lanesOf,
  nodesIn,
  totalsOf,
  type ScoreEvent,
  type Segment,
  type Track,
} from './score.js';
export * from './ssh-keys.js';
export * from './version.path.js';
export * from './windows.js';
export {
  hasQuota,
  NO_USAGE,
  quotaRefusal,
  requestedSets,
  USAGE_FILTERS,
  usageAfter,
  type Usage,
  type Desired,
} from './usage.js';
export { issueWords } from './rules/issue.words.js';
export { nodeCidrMaskFor, overlap, parseNetwork, podRoomFault } from './rules/cidrs.js';
export { machineHoursAfter, usedHours, type MachineHours, type UsedHours } from './machine.hours.js';
