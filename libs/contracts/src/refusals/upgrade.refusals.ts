import { definition, type RefusalDefinition } from './refusal.definition.js';

/** Upgrades, etcd snapshots, hooks and add-ons. */
export const UPGRADE_REFUSALS = {
  'hook.secret-unknown': definition(
    404,
    "The namespace '{namespace}' has no hook secret '{secret}'",
    'List them with "fairlead hook list-secrets".',
  ),
  'hook.too-many-secrets': definition(
    409,
    "The namespace '{namespace}' has {max} hook secrets",
    'Delete one that no hook names with "fairlead hook delete-secret <secret>".',
  ),
  'hook.holds-nothing': definition(
    409,
    'The hook {hook} does not hold the cluster {cluster}{about}',
    'See what waits for which hook with "fairlead cluster describe {cluster}".',
  ),
  'hook.name-taken': definition(400, 'Two hooks are named {hook}', 'Give each hook a unique name.'),
  'hook.url-invalid': definition(
    400,
    'The URL of the hook {hook} cannot be used: {reason}',
    'Give an http or https URL without a user name.',
  ),
  'hook.timeout': definition(400, 'The hook {hook} may take at most {max}', 'Give a shorter timeout.'),
  'addon.secret-unknown': definition(
    404,
    "The namespace '{namespace}' has no add-on secret '{addonSecret}'",
    'List them with "fairlead addon list-secrets".',
  ),
  'addon.too-many-secrets': definition(
    409,
    "The namespace '{namespace}' has {max} add-on secrets",
    'Delete one that no add-on names with "fairlead addon delete-secret <secret>".',
  ),
  'addon.name-taken': definition(400, 'Two add-ons are named {addon}', 'Give each add-on a unique name.'),
  'addon.name-reserved': definition(
    400,
    'Fairlead itself installs what is named {addon}',
    'Give the add-on another name.',
  ),
  'addon.source': definition(
    400,
    'The add-on {addon} must have an application or a chart with a version, or manifests without values',
    'List applications and their versions with "fairlead application list".',
  ),
  'addon.dependency-unknown': definition(
    400,
    'The add-on {addon} depends on {other}, which is not declared',
    'Declare it, or take it out of dependsOn.',
  ),
  'addon.dependency-late': definition(
    400,
    'The add-on {addon} of class bootstrap depends on {other} of class normal, which is installed later',
    'Give both the same class.',
  ),
  'addon.dependency-circle': definition(
    400,
    'The add-on {addon} depends on itself through others',
    'Take one of them out of dependsOn.',
  ),
  'addon.too-large': definition(
    400,
    'All add-ons together have more than {max} characters as JSON',
    'Move large manifests into a chart.',
  ),
  'upgrade.minor-downgrade': definition(
    422,
    'downgrading {software} of {node} from {from} to {to} is not possible as they are on different minors',
    'Request a version of the same or the next minor version.',
  ),
  'upgrade.no-changes': definition(
    400,
    'The upgrade changes nothing',
    'Give at least one of version, software, renewCertificates and reboot.',
  ),
  'upgrade.no-targets': definition(
    400,
    'The upgrade includes neither control planes nor workers',
    'Let controlPlane be true, or name a pool.',
  ),
  'upgrade.version-invalid': definition(400, '{version} is not a Kubernetes version', 'Give one like v1.34.4.'),
  'upgrade.software-invalid': definition(
    400,
    '{name} {version} cannot be requested as a package',
    'kubeadm, kubelet and kubectl come with version; name other packages with the version they must have.',
  ),
  'upgrade.force-unbounded': definition(
    400,
    'Forced eviction of pods needs a deadline',
    'Give forceUntil with onDrainTimeout force, or use stop or quarantine.',
  ),
  'upgrade.gate-url': definition(
    400,
    'The URL of gate {gate} is invalid: {why}',
    'Give an http or https URL without a user name or a password.',
  ),
  'upgrade.gate-manifest': definition(
    400,
    'The Job of gate {gate} is invalid: {why}',
    'Give the manifest of a Job of batch/v1 with metadata.name, as an object, YAML or JSON, of at most 16 KiB.',
  ),
  'upgrade.rule-unknown': definition(400, '{rule} is not a rule of upgrades', 'Rules are named like B4.'),
  'upgrade.rule-not-overridable': definition(
    422,
    'Rule {rule} cannot be overridden: {title}',
    'Resolve the finding and try again. Rules that can be overridden: {overridable}.',
  ),
  'upgrade.reason-missing': definition(400, 'A reason is required', 'Give a reason; it is recorded in the history.'),
  'upgrade.pool-unknown': definition(422, "The cluster '{cluster}' has no worker pool {pool}", 'Its pools: {pools}.'),
  'upgrade.unknown': definition(
    404,
    'Upgrade {upgrade} of {namespace}/{cluster} does not exist',
    'List them with GET /ns/{namespace}/clusters/{cluster}/upgrades.',
  ),
  'upgrade.open': definition(
    409,
    'Unable to {action}. The upgrade {upgrade} is not finished ({state}).',
    '{wayOn}. See GET /ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}.',
  ),
  'upgrade.not-planned': definition(409, 'The upgrade {upgrade} has no plan yet', 'Try again in a few seconds.'),
  'upgrade.not-approvable': definition(
    409,
    'The plan of {upgrade} is a dry run and cannot be approved',
    'Request the upgrade without dryRun and approve its plan.',
  ),
  'upgrade.hash-mismatch': definition(
    409,
    'The plan of {upgrade} has the hash {actual}, not {given}',
    'Read the plan again, and approve its current hash.',
  ),
  'upgrade.phase': definition(
    409,
    "Unable to {action}. The upgrade {upgrade} is '{phase}'.",
    '{wayOn}. See GET /ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}.',
  ),
  'upgrade.nothing-failed': definition(
    409,
    'Nothing of the upgrade {upgrade} has failed',
    'See what it waits for (fairlead upgrade status {cluster}), and wait, or end it (fairlead upgrade abort {cluster}).',
  ),
  'upgrade.node-not-planned': definition(
    422,
    '{node} is not part of the upgrade {upgrade}',
    'Name a node of its plan: see GET /ns/{namespace}/clusters/{cluster}/upgrades/{upgrade}.',
  ),
  'upgrade.node-not-failed': definition(
    409,
    'The change of {node} has not failed',
    'Only a failed worker is rolled back. Leave it out (fairlead upgrade skip {cluster} {node}), or wait for its end.',
  ),
  'upgrade.node-done': definition(409, '{node} is already done', 'Nothing is left to skip.'),
  'upgrade.rollback-worker-only': definition(
    422,
    '{node} is a control plane: it is never rolled back by itself (G2)',
    'Fix the cause and retry (fairlead upgrade retry {cluster}), or end the upgrade (fairlead upgrade abort {cluster}).',
  ),
  'upgrade.skip-worker-only': definition(
    422,
    '{node} is a control plane, and control planes cannot be skipped (A1)',
    'Fix the cause and retry (fairlead upgrade retry {cluster}), or end the upgrade (fairlead upgrade abort {cluster}).',
  ),
  'etcd.snapshot-unknown': definition(
    404,
    'Snapshot {snapshot} of {namespace}/{cluster} does not exist',
    'List them with GET /ns/{namespace}/clusters/{cluster}/etcd/snapshots.',
  ),
  'etcd.schedule-invalid': definition(
    400,
    '{schedule} is not a schedule for snapshots of etcd',
    'Use a five-field cron expression that matches at least one time, such as 0 */6 * * *. Times are UTC.',
  ),
  'etcd.schedule-too-often': definition(
    400,
    'Snapshots of etcd at {schedule} would be less than {min} minutes apart',
    'Take them less often.',
  ),
  'etcd.keep-for-short': definition(400, 'Snapshots of etcd cannot be kept for {given}', 'Keep them for 1h or longer.'),
  'etcd.restore-unconfirmed': definition(
    422,
    "Everything that happened in '{cluster}' since {takenAt} would be lost",
    'Confirm with the name of the cluster in confirm.',
  ),
  'etcd.restore-other-version': definition(
    422,
    "{snapshot} was taken with Kubernetes {taken}, but '{cluster}' runs {running}",
    'Confirm with {taken} in confirmVersion (CLI: --confirm-version {taken}); afterwards kubeadm-config, kube-proxy and CoreDNS are updated to {running} again.',
  ),
  'etcd.request-unknown': definition(
    404,
    'Etcd request {request} of {namespace}/{cluster} does not exist',
    'Only the latest are kept; the log has them all.',
  ),
} as const satisfies Record<string, RefusalDefinition>;
