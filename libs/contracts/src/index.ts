export * from './addon.workloads.js';
export * from './agent.js';
export * from './agent.credentials.js';
export * from './agent.facts.js';
export * from './agent.messages.js';
export * from './agent.subjects.js';
export * from './application.js';
export * from './application.fold.js';
export * from './attempts.js';
export * from './autoscaler.js';
export * from './autoscaler.credential.js';
export * from './certificates.js';
export * from './cluster.limits.js';
export * from './pod.ranges.js';
export * from './cluster-spec.js';
export * from './creation.js';
export * from './creation.failure.js';
export * from './durations.js';
export * from './envelope.js';
export * from './events/catalogue.js';
export {
  scopeOf,
  SERVICES,
  type EventDefinition,
  type Scope,
  type ServiceName,
  type Writer,
} from './events/definition.js';
export { ConnectionOffer, MachineSpec, ReservedMachines, ReservedSizes } from './events/machines.events.js';
export { SNAPSHOT_ENDS, UPGRADE_MODES, type SnapshotEnd } from './events/rollout.events.js';
export { STALL_NAMES_MAX } from './events/process.events.js';
export { ChangesAllowedUntil, DesiredSoftware, SoftwareVersions } from './events/node.events.js';
export * from './exec.limits.js';
export * from './executions.js';
export * from './external-etcd.js';
export * from './failure.reasons.js';
export * from './failures.js';
export * from './handover.js';
export * from './heartbeats.js';
export * from './hook.answers.js';
export * from './hook.points.js';
export * from './hook.secrets.js';
export * from './hooks.js';
export * from './hosts.js';
export * from './host-keys.js';
export * from './identity.js';
export * from './ids.js';
export * from './kubeconfig.limits.js';
export * from './kubeconfigs.js';
export * from './lab.faults.js';
export * from './lifetime.js';
export * from './log.follow.js';
export * from './machines.js';
export * from './members/departures.js';
export * from './members/health.js';
export * from './members/members.js';
export * from './manifest/authentication.js';
export * from './manifest/autoscaling.js';
export * from './manifest/cluster.manifest.js';
export * from './manifest/cluster.template.js';
export * from './manifest/cluster.template.fold.js';
export * from './manifest/cluster.template.resolve.js';
export * from './manifest/declared.js';
export * from './manifest/drain.policy.js';
export * from './manifest/virtual.addresses.js';
export * from './network/load.balancing.js';
export * from './network/address.reports.js';
export * from './manifest/etcd.backups.js';
export * from './manifest/health.check.js';
export * from './manifest/hooks.js';
export * from './manifest/lease.js';
export * from './manifest/manifest.diff.js';
export * from './manifest/manifest.fold.js';
export * from './manifest/manifest.plan.js';
export * from './manifest/machine.template.js';
export * from './manifest/merge.patch.js';
export * from './manifest/pool.rollout.js';
export * from './manifest/pool.fields.js';
export * from './manifest/pool.status.js';
export * from './manifest/template.cluster.js';
export * from './manifest/template.use.js';
export * from './manifest/victims.js';
export * from './mirror.js';
export * from './narrative.js';
export * from './node-actions.js';
export * from './networks.js';
export * from './network/desired.network.js';
export * from './network/firewall.js';
export * from './network/network.paths.js';
export * from './network/sshd.js';
export * from './network/addresses.js';
export * from './own-hosts.js';
export * from './pause.js';
export * from './pause.request.js';
export { faultsOf, settingRefusal, type SettingFault } from './setting-faults.js';
export * from './connection-settings.js';
export { nearestOf } from './nearest.js';
export * from './quota.js';
export * from './realm.js';
export * from './records.js';
export * from './registered.js';
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
export * from './permissions.js';
export * from './quorum.js';
export * from './watch.js';
export * from './refusals.js';
export { nodeCidrMaskFor, overlap, parseNetwork, podRoomFault } from './rules/cidrs.js';
export * from './rules/cluster.rules.js';
export * from './rules/document.faults.js';
export { issueWords } from './rules/issue.words.js';
export * from './rules/manifest.rules.js';
export * from './rules/request.faults.js';
export * from './rules/template.rules.js';
export * from './remediation.js';
export * from './replacement-orders.js';
export * from './readiness.js';
export * from './replacements.js';
export * from './requests.js';
export * from './rollout.reasons.js';
export * from './kubernetes.release.js';
export * from './release.catalogue.js';
export * from './release.views.js';
export * from './releases.fold.js';
export * from './software.js';
export { pinnedSha256 } from './software.digests.js';
export * from './software.trust.js';
export * from './ssh-key.js';
export * from './ssh-keys.js';
export * from './subjects.js';
export * from './templates.js';
export * from './text.limits.js';
export * from './text.js';
export * from './time.js';
export * from './upgrade.findings.js';
export * from './upgrade.requests.js';
export * from './upgrades.js';
export * from './gate.urls.js';
export * from './gate.jobs.js';
export * from './limited.record.js';
export * from './views/address.views.js';
export * from './views/change.views.js';
export * from './views/cluster.views.js';
export * from './views/connection.views.js';
export * from './views/fleet.views.js';
export * from './views/handover.views.js';
export * from './views/list.views.js';
export * from './views/log.views.js';
export * from './views/node.views.js';
export * from './views/operation.views.js';
export * from './views/session.views.js';
export * from './views/status.views.js';
export * from './views/token.views.js';
export * from './views/upgrade.views.js';
export * from './views/whoami.view.js';
export * from './version.path.js';
export * from './versions.js';
export * from './windows.js';
