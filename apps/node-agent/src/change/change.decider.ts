import { CHANGE_ATTEMPTS_MAX, type EtcdChange, type EventData, type NodeChange } from '@fairlead/contracts';

export type ChangePhase = EventData<'NodeChangeProgressed'>['phase'];

export interface PhaseRecord {
  readonly status: 'started' | 'done' | 'failed';
  /** Tries for the record's revision, the one under way included. */
  readonly attempts: number;
  /** Why the last one failed; absent: none did, or its end is not known. */
  readonly message?: string | undefined;
}

/** What the node remembers of a change, on its disk, before and after each phase. */
export interface ChangeRecord {
  readonly id: string;
  /** The revision that asked last. */
  readonly revision: number;
  readonly phases: { readonly [P in ChangePhase]?: PhaseRecord };
  /** The API server that kubelet.conf named before it was pointed at the balanced one; null: it names its own. */
  readonly ownServer: string | null;
  /** A digest of what the kubelet was started with; null: this change has started none. */
  readonly startedKubelet: string | null;
  /** The boot in which the reboot was ordered. */
  readonly bootIdBefore: string | null;
  readonly isFinished: boolean;
}

export type NextStep =
  /** Run it: for the first time, again after a failure, or because its progress is unknown. */
  | { readonly do: 'run'; readonly phase: ChangePhase; readonly attempt: number }
  /** It is done, without another look; `before`: by a boot that was not ordered here. */
  | { readonly do: 'confirm'; readonly phase: ChangePhase; readonly attempt: number; readonly before?: true }
  | { readonly do: 'finish' }
  /** `isInterrupted`: the last attempt was cut off, e.g. by a power cut, and nothing has stated its failure. */
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
 * The phases of a change in their order; each is done once. `runtime` is whatever else is desired of the host. A step of a restore
 * of etcd is a change of its own: the others wait for it.
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

/** What is done stays done; what failed may be tried again, since someone has asked again. */
const askedAgain = (record: ChangeRecord, revision: number): ChangeRecord => ({
  ...record,
  revision,
  phases: Object.fromEntries(Object.entries(record.phases).map(([phase, one]) => [phase, withoutTries(one)])),
});

const withoutTries = (phase: PhaseRecord): PhaseRecord => (phase.status === 'done' ? phase : { ...phase, attempts: 0 });

/** The record with which to go on for a revision that asks for the change. */
export const recordFor = (record: ChangeRecord | undefined, id: string, revision: number): ChangeRecord => {
  if (record?.id !== id) return fresh(id, revision);
  return record.revision === revision ? record : askedAgain(record, revision);
};

/** The boot that the host is in. */
export interface Boot {
  readonly id: string;
  /** RFC 3339; absent: it was not asked for. */
  readonly at?: string;
}

/** The machine has booted since the order: that is all a reboot is. */
const hasBooted = ({ bootIdBefore }: ChangeRecord, { id }: Boot): boolean =>
  bootIdBefore !== null && bootIdBefore !== id;

/** It has booted since the request, before anything was ordered here. Clocks are compared only if the boot is not the known one. */
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

/** What comes next. The same question gets the same answer after a crash: a phase that was begun is run again. */
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

/** Before a phase is run. The boot in which a reboot was first ordered is the one that it must end. */
export const began = (record: ChangeRecord, phase: ChangePhase, bootId: string): ChangeRecord => {
  const attempts = (record.phases[phase]?.attempts ?? 0) + 1;
  const bootIdBefore = phase === 'reboot' ? (record.bootIdBefore ?? bootId) : record.bootIdBefore;
  return { ...withPhase(record, phase, { status: 'started', attempts }), bootIdBefore };
};

export const succeeded = (record: ChangeRecord, phase: ChangePhase): ChangeRecord =>
  withPhase(record, phase, { status: 'done', attempts: record.phases[phase]?.attempts ?? 1 });

export const failed = (record: ChangeRecord, phase: ChangePhase, message: string): ChangeRecord =>
  withPhase(record, phase, { status: 'failed', attempts: record.phases[phase]?.attempts ?? 1, message });

/** Whether kubeadm or the kubelet were begun more than once for this revision: how far an earlier attempt came is unknown. */
export const isRepeated = ({ phases }: ChangeRecord): boolean =>
  [phases.kubeadm, phases.kubelet].some((phase) => phase !== undefined && phase.attempts > 1);

export const finished = (record: ChangeRecord): ChangeRecord => ({ ...record, isFinished: true });
