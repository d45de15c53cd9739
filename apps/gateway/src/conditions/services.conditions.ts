import {
  ADMIN_CERTIFICATE,
  f1Expiring,
  isAuthority,
  isOfKubelet,
  lateOfKubelets,
  nextRunAfter,
} from '@fairlead/contracts';
import { isIdentityAwaited } from '@fairlead/domain';
import type { ConditionFacts } from './condition.facts.js';
import {
  MINUTE_MS,
  NAMED_MAX,
  earliestOf,
  found,
  holds,
  isNot,
  latestOf,
  named,
  timesOf,
  whenNodesAreAway,
  type Read,
} from './condition.reading.js';

export const failedAddons = ({ addons }: ConditionFacts) =>
  [...(addons?.addons ?? []), ...(addons?.releases ?? [])].filter(({ phase }) => phase === 'Failed');

/** Of a cluster with an addon that has failed. */
export const addonsHealthy: Read = (facts) => {
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

const unappliedWords = ({ unapplied = {}, name }: ConditionFacts): readonly string[] => {
  const failed = Object.entries(unapplied);
  if (failed.length === 0) return [];
  const words = failed.slice(0, NAMED_MAX).map(([what, { message }]) => `${what}: ${message}`);
  const others = failed.length - words.length;
  const all = `${words.join('; ')}${others > 0 ? ` and ${others} more` : ''}`;
  return [`${all}. Correct the cause, then run fairlead cluster retry ${name}`];
};

const unmetWords = ({ unmet = [] }: ConditionFacts): readonly string[] => {
  if (unmet.length === 0) return [];
  const words = unmet.slice(0, NAMED_MAX).map(({ what, cause, attempt, nextAttemptAt }) => {
    const when = nextAttemptAt === null ? 'asked for again now' : `next at ${nextAttemptAt}`;
    return `${what}: ${cause} (${attempt === 0 ? when : `attempt ${attempt}, ${when}`})`;
  });
  const others = unmet.length - words.length;
  const all = `${words.join('; ')}${others > 0 ? ` and ${others} more` : ''}`;
  return [`${all}. Nobody has to ask again; with room now, "fairlead connection verify" makes it ask at once`];
};

/** Of a cluster that is not as declared: what Kubernetes did not take waits for a retry, what a provider refused is asked for again. */
export const declaredStateApplied: Read = (facts) => {
  const { unapplied = {}, unmet = [] } = facts;
  const failed = [...Object.values(unapplied), ...unmet];
  const since = facts.marks.ready ?? facts.createdAt;
  if (failed.length === 0) return holds(since);
  const lacksSomething = Object.keys(unapplied).length > 0 || unmet.some(({ ofNodes }) => ofNodes);
  return found({
    status: 'False',
    reason: 'DeclaredStateNotApplied',
    message: [...unappliedWords(facts), ...unmetWords(facts)].join('. '),
    since: earliestOf(timesOf(failed), since),
    ...(lacksSomething ? { calls: whenNodesAreAway(facts) } : {}),
  });
};

/** Of a cluster whose etcd is degraded: each of it would stop an upgrade (B3). */
export const etcdHealthy: Read = (facts) => {
  const { etcdProblems, marks, createdAt } = facts;
  if (etcdProblems === undefined) return holds(marks.ready ?? createdAt);
  const { since, problems } = etcdProblems;
  return found({
    status: 'False',
    reason: 'EtcdDegraded',
    message: problems.map(({ message, help }) => `${message}. ${help}`).join(' '),
    since,
    calls: whenNodesAreAway(facts),
  });
};

/** Of a cluster with a health check. */
export const remediationAllowed: Read = ({ health, createdAt }) => {
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

const DAY_MS = 24 * 60 * MINUTE_MS;

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
export const backupsHealthy: Read = (facts) => {
  const { backups, now, createdAt } = facts;
  const failed = backups?.failed;
  if (failed !== undefined)
    return found({
      status: 'False',
      reason: failed.what === 'snapshot' ? 'BackupFailed' : 'BackupNotVerified',
      message: `${failed.message}; ${ageOf(facts)}. See "fairlead etcd list"`,
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

/** Certificates that end sooner were not renewed in time: renewal begins 90 days before the end. */
const CERTIFICATES_ENDING_MS = 30 * DAY_MS;

const before = (time: string, ms: number): string => new Date(Date.parse(time) - ms).toISOString();

type Ending = Parameters<Read>[0]['certificates'][number];

const hasEnded = ({ expiresAt }: Ending, now: string): boolean => expiresAt <= now;

const endedWords = ({ expiresAt }: Ending, now: string): string => {
  const days = Math.floor((Date.parse(now) - Date.parse(expiresAt)) / DAY_MS);
  return `ended at ${expiresAt}${days === 0 ? '' : `, ${days} ${days === 1 ? 'day' : 'days'} ago`}`;
};

const endingSentence = (first: Ending, ending: readonly Ending[], now: string): string => {
  if (!hasEnded(first, now))
    return `${first.name} on ${first.node} expires at ${first.expiresAt}. Renew the certificates with "fairlead certificates renew"`;
  const admin = ending.find((one) => one.name === ADMIN_CERTIFICATE && hasEnded(one, now));
  return [
    `${first.name} on ${first.node} ${endedWords(first, now)}`,
    ...(admin === undefined
      ? []
      : [`, and with ${admin.name} the client certificate by which Fairlead reaches the API`]),
    '. "fairlead certificates renew" renews them through the agents, without the API',
  ].join('');
};

const ENDED_KUBELETS = {
  own: '"fairlead certificates renew" renews them, too',
  others: 'Replace the nodes with "fairlead node replace"',
};

/** A control plane has the authority that signs for its kubelet; other kubelets need an API that accepts them. */
const kubeletSentences = (late: readonly Ending[], certificates: readonly Ending[], now: string): readonly string[] => {
  const nodesOf = (some: readonly Ending[]): string => named(some.map(({ node }) => node));
  const isControlPlane = ({ node }: Ending): boolean =>
    certificates.some((one) => one.node === node && !isOfKubelet(one));
  const ended = late.filter((one) => hasEnded(one, now));
  const bySigner = { own: ended.filter(isControlPlane), others: ended.filter((one) => !isControlPlane(one)) };
  const ending = late.filter((one) => !hasEnded(one, now));
  return [
    ...(['own', 'others'] as const).flatMap((signer) =>
      bySigner[signer].length === 0
        ? []
        : [
            `the client certificates of the kubelets of ${nodesOf(bySigner[signer])} have ended, so that the API refuses them. ${ENDED_KUBELETS[signer]}`,
          ],
    ),
    ...(ending.length === 0
      ? []
      : [
          `the kubelets of ${nodesOf(ending)} have not renewed their certificates, and leave the cluster when they end. Look at their logs and at the CertificateSigningRequests, or replace the nodes`,
        ]),
  ];
};

/** An authority is replaced by hand, on every node: that takes its time. */
const AUTHORITY_ENDING_MS = 180 * DAY_MS;

/** The same one is on every control plane. */
const authoritySentences = (ending: readonly Ending[], now: string): readonly string[] => {
  const [first] = ending.toSorted((one, other) => (one.expiresAt < other.expiresAt ? -1 : 1));
  if (first === undefined) return [];
  const names = [...new Set(ending.map(({ name }) => name))].toSorted();
  const when = hasEnded(first, now) ? endedWords(first, now) : `expires at ${first.expiresAt}`;
  return [
    `${names.length === 1 ? 'the certificate authority' : 'the first of the certificate authorities'} ${named(names)} ${when}: no certificate that it signed is accepted after that, and no renewal replaces it. Rotate it by hand (Manual Rotation of CA Certificates, in the documentation of Kubernetes), or create another cluster`,
  ];
};

export const certificatesValid: Read = ({ certificates, marks, createdAt, now }) => {
  const ending = f1Expiring(certificates, now)
    .filter(({ expiresAt }) => before(expiresAt, CERTIFICATES_ENDING_MS) <= now)
    .toSorted((one, other) => (one.expiresAt < other.expiresAt ? -1 : 1));
  const [first] = ending;
  const late = lateOfKubelets(certificates, now);
  const authorities = certificates.filter(
    (one) => isAuthority(one) && before(one.expiresAt, AUTHORITY_ENDING_MS) <= now,
  );
  if (first === undefined && late.length + authorities.length === 0) return holds(marks.controlPlane ?? createdAt);
  const sentences = [
    ...(first === undefined ? [] : [endingSentence(first, ending, now)]),
    ...kubeletSentences(late, certificates, now),
    ...authoritySentences(authorities, now),
  ];
  const ends = [...ending, ...late, ...authorities].map(({ expiresAt }) => expiresAt);
  return found({
    status: 'False',
    reason: 'CertificatesEnding',
    message: sentences.join('; '),
    since: before(earliestOf(ends, now), CERTIFICATES_ENDING_MS),
    calls: 'Degraded',
  });
};

export const quarantined: Read = ({ quarantined: services, marks, createdAt }) => {
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

/** Of a cluster whose users sign in at an identity realm. While it is created, it waits; later its users keep what they have. */
export const identityReady: Read = ({ identity, phase, createdAt }) => {
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

/** Of a cluster whose API is published. While it is created, its name is not held yet. */
export const endpointAvailable: Read = ({ publication, phase, createdAt }) => {
  const { has = {}, since = createdAt } = publication ?? {};
  const { blocked, held, reserved } = has;
  if (blocked !== undefined)
    return found({
      status: 'False',
      reason: blocked.reason,
      message: blocked.message,
      since: blocked.since,
      ...(phase === 'Provisioned' ? { calls: 'Degraded' } : {}),
    });
  if (held?.isAvailable === true) return holds(held.since);
  if (held === undefined && phase !== 'Provisioned')
    return { status: 'Unknown', reason: 'InProgress', message: '', lastTransitionTime: since };
  return found({
    status: 'False',
    reason: 'EndpointUnavailable',
    message: `no control plane is connected to the tunnel as ${reserved?.name ?? 'the API'}. See "journalctl -u fairlead-tunnel" on the control planes`,
    since: held?.since ?? since,
    ...(phase === 'Provisioned' ? { calls: 'Degraded' } : {}),
  });
};
