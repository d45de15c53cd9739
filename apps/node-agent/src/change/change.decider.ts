import { CHANGE_ATTEMPTS_MAX, type EtcdChange, type EventData, type NodeChange } from '@fairlead/contracts';

export type ChangePhase = EventData<'NodeChangeProgressed'>['phase'];

export interface PhaseRecord {
  readonly status: 'started' | 'done' | 'failed';
  /** Attempts for the record's revision, including a current one. */
  readonly attempts: number;
  /** Why the last attempt failed; absent if none did, or its result is unknown. */
  readonly message?: string | undefined;
}

/** The node's record of a change, written to disk before and after each phase. */
export interface ChangeRecord {
  readonly id: string;
  /** The last revision that requested it. */
  readonly revision: number;
  readonly phases: { readonly [P in ChangePhase]?: PhaseRecord };
  /** The API server in kubelet.conf before it was switched to the balanced one; null: it is the node's own. */
  readonly ownServer: string | null;
  /** A digest of the settings with which the kubelet was started; null: this change has not started it. */
  readonly startedKubelet: string | null;
  /** The boot in which the reboot was requested. */
  readonly bootIdBefore: string | null;
  readonly isFinished: boolean;
}

export type NextStep =
  /** Run the phase: for the first time, again after a failure, or because its progress is unknown. */
  | { readonly do: 'run'; readonly phase: ChangePhase; readonly attempt: number }
  /** The phase is done without running it; `before`: by a boot that was not requested here. */
  | { readonly do: 'confirm'; readonly phase: ChangePhase; readonly attempt: number; readonly before?: true }
  | { readonly do: 'finish' }
  /** `isInterrupted`: the last attempt was interrupted, e.g. by a power failure, and its failure was not stated. */
  | {
      readonly do: 'stop';
      readonly phase: ChangePhase;
      readonly attempt: number;
      readonly reason: string;
      readonly isInterrupted: boolean;
    };

const ETCD_PHASES: Readonly<Record<EtcdChange['step'], ChangePhase>> = {
  stop: 'etcd-stop',
  restore: 'etcd-restore',
  start: 'etcd-start',
  undo: 'etcd-undo',
  refresh: 'kubelet-restart',
};

/**
 * The phases of a change in order; each is done once. `runtime` covers all other settings of the host. A step of an
 * etcd restore is a separate change, for which other steps wait.
 */
export const phasesOf = (change: NodeChange): readonly ChangePhase[] => {
  if (change.etcd !== undefined) return [ETCD_PHASES[change.etcd.step]];
  return [
    ...(change.kubernetes === null ? [] : (['stage'] as const)),
    ...(change.kubeadm === null ? [] : (['kubeadm'] as const)),
    ...(change.kubernetes === null ? [] : (['kubelet'] as const)),
    'runtime',
    ...(change.renewCertificates ? (['certificates'] as const) : []),
    ...(change.reboot ? (['reboot'] as const) : []),
  ];
};

const fresh = (id: string, revision: number): ChangeRecord => ({
  id,
  revision,
  phases: {},
  ownServer: null,
  startedKubelet: null,
  bootIdBefore: null,
  isFinished: false,
});

/** Completed phases stay completed; failed ones may be retried, because they were requested again. */
const askedAgain = (record: ChangeRecord, revision: number): ChangeRecord => ({
  ...record,
  revision,
  phases: Object.fromEntries(Object.entries(record.phases).map(([phase, one]) => [phase, withoutTries(one)])),
});

const withoutTries = (phase: PhaseRecord): PhaseRecord => (phase.status === 'done' ? phase : { ...phase, attempts: 0 });

/** Returns the record to continue with for a revision that requests the change. */
export const recordFor = (record: ChangeRecord | undefined, id: string, revision: number): ChangeRecord => {
  if (record?.id !== id) return fresh(id, revision);
  return record.revision === revision ? record : askedAgain(record, revision);
};

/** The current boot of the host. */
export interface Boot {
  readonly id: string;
  /** RFC 3339; absent if it was not needed. */
  readonly at?: string;
}

/** Whether the machine has booted since the request, which completes a reboot. */
const hasBooted = ({ bootIdBefore }: ChangeRecord, { id }: Boot): boolean =>
  bootIdBefore !== null && bootIdBefore !== id;

/**
 * Whether the host has booted since the request, before the agent requested anything. Clocks are compared only if the
 * boot is not the known one.
 */
const isSatisfied = ({ unlessBooted }: NodeChange, { bootIdBefore }: ChangeRecord, { id, at }: Boot): boolean => {
  if (unlessBooted === undefined || at === undefined || bootIdBefore !== null) return false;
  return unlessBooted.bootId !== id && Date.parse(at) > Date.parse(unlessBooted.since);
};

const INTERRUPTED = 'the last attempt was interrupted: the host or the agent stopped meanwhile';

const stopped = (phase: ChangePhase, { phases }: ChangeRecord): NextStep => {
  const { attempts = 0, status, message = INTERRUPTED } = phases[phase] ?? {};
  const reason = `${phase} failed ${attempts} times: ${message}`;
  return { do: 'stop', phase, attempt: attempts, reason, isInterrupted: status === 'started' };
};

/** The next step. Deterministic across crashes: a phase that was started is run again. */
export const nextStep = (change: NodeChange, record: ChangeRecord, boot: Boot): NextStep => {
  const phase = phasesOf(change).find((one) => record.phases[one]?.status !== 'done');
  if (phase === undefined) return { do: 'finish' };
  const attempts = record.phases[phase]?.attempts ?? 0;
  if (phase === 'reboot' && isSatisfied(change, record, boot))
    return { do: 'confirm', phase, attempt: 1, before: true };
  if (phase === 'reboot' && hasBooted(record, boot)) return { do: 'confirm', phase, attempt: Math.max(1, attempts) };
  if (attempts >= CHANGE_ATTEMPTS_MAX) return stopped(phase, record);
  return { do: 'run', phase, attempt: attempts + 1 };
};

const withPhase = (record: ChangeRecord, phase: ChangePhase, to: PhaseRecord): ChangeRecord => ({
  ...record,
  phases: { ...record.phases, [phase]: to },
});

/** Called before a phase is run. A reboot must end the boot in which it was first requested. */
export const began = (record: ChangeRecord, phase: ChangePhase, bootId: string): ChangeRecord => {
  const attempts = (record.phases[phase]?.attempts ?? 0) + 1;
  const bootIdBefore = phase === 'reboot' ? (record.bootIdBefore ?? bootId) : record.bootIdBefore;
  return { ...withPhase(record, phase, { status: 'started', attempts }), bootIdBefore };
};

export const succeeded = (record: ChangeRecord, phase: ChangePhase): ChangeRecord =>
  withPhase(record, phase, { status: 'done', attempts: record.phases[phase]?.attempts ?? 1 });

export const failed = (record: ChangeRecord, phase: ChangePhase, message: string): ChangeRecord =>
  withPhase(record, phase, { status: 'failed', attempts: record.phases[phase]?.attempts ?? 1, message });

/**
 * Whether kubeadm or the kubelet phase was started more than once for this revision, so that the progress of an earlier
 * attempt is unknown.
 */
export const isRepeated = ({ phases }: ChangeRecord): boolean =>
  [phases.kubeadm, phases.kubelet].some((phase) => phase !== undefined && phase.attempts > 1);

export const finished = (record: ChangeRecord): ChangeRecord => ({ ...record, isFinished: true });
