import { ExternalFailure, type EventData, type NodeChange, type SoftwareVersions } from '@fairlead/contracts';
import type { AgentFact } from '../node/agent.facts.js';
import type { Difference } from '../node/difference.js';
import type { AgentLog } from '../node/host.ports.js';
import type { Desired } from '../node/desired.state.js';
import type { Failed } from '../software/inspection.js';
import {
  began,
  failed,
  finished,
  isRepeated,
  nextStep,
  recordFor,
  succeeded,
  type Boot,
  type ChangePhase,
  type ChangeRecord,
  type NextStep,
} from './change.decider.js';
import { AgentStops } from './change.ports.js';
import { commandOf, runPhase } from './change.phases.js';
import type { ChangeStore } from './change.store.js';
import { dryRunKubeadm, type DryRunEnd } from './kubeadm.dry-run.js';
import type { PhaseParts } from './phase.task.js';
import { restoreStaticPods } from './static.pods.js';

const ITEM = 'change';
/** Maximum length of a failure message that is stored on the host's disk. */
const MESSAGE_LENGTH_MAX = 2_000;
/** An operation has at most six phases. */
const STEPS_MAX = 10;

type Progress = Omit<EventData<'NodeChangeProgressed'>, 'uid' | 'node' | 'revision' | 'change'>;

export interface ChangeOptions extends Omit<PhaseParts, 'ensureRest'> {
  readonly identity: Pick<EventData<'NodeChangeProgressed'>, 'uid' | 'node'>;
  readonly store: ChangeStore;
  /** Stores the facts on the host first, then states each once in the log. */
  readonly say: (facts: readonly AgentFact[]) => Promise<void>;
  readonly log: AgentLog;
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Desired changes of the node beyond software: done once, phase by phase, across crashes and boots. */
export class NodeChanges {
  constructor(private readonly options: ChangeOptions) {}

  /** An unfinished change is a difference like any other: nothing is done before it is announced. */
  async inspect({ change }: Desired): Promise<readonly Difference[]> {
    if (change === undefined) return [];
    const { change: record } = await this.options.store.read();
    if (record?.id === change.id && record.isFinished) return [];
    const reached = record?.id === change.id ? Object.keys(record.phases).at(-1) : undefined;
    return [{ item: ITEM, what: change.id, observed: reached ?? 'not begun', desired: 'done' }];
  }

  /**
   * Performs the rest of the change. Returns undefined when it is done, otherwise the failure, which may be retried.
   */
  async ensure(desired: Desired, bootId: string, ensureRest: () => Promise<void>): Promise<Failed | undefined> {
    const { change, revision, software } = desired;
    if (change === undefined) return undefined;
    const { store } = this.options;
    await restoreStaticPods(this.options);
    const boot = await this.bootOf(change, bootId);
    let record = recordFor((await store.read()).change ?? undefined, change.id, revision);
    for (let count = 0; count < STEPS_MAX; count += 1) {
      const step = nextStep(change, record, boot);
      if (step.do === 'finish') {
        await store.write({ change: finished(record) });
        return undefined;
      }
      if (step.do === 'stop') return this.stopped(step, change, record);
      const outcome = await this.take(step, { change, revision, software, record, bootId, ensureRest });
      record = outcome.record;
      if (outcome.failure !== undefined) return outcome.failure;
    }
    throw new Error(`a change of more than ${STEPS_MAX} steps`);
  }

  /** Stops retrying for this revision. An interrupted attempt is stated as a failure. */
  private async stopped(step: Stop, change: NodeChange, record: ChangeRecord): Promise<Failed> {
    const { phase, attempt, reason: message } = step;
    const command = commandOf(phase, change, this.options.profile);
    if (step.isInterrupted) {
      await this.report(change.id, record.revision, {
        phase,
        attempt,
        command,
        status: 'failed',
        tookMs: null,
        message,
      });
      await this.keep(failed(record, phase, message));
    }
    return { item: ITEM, command: command ?? '', message };
  }

  /** The boot time is read only if it matters. */
  private async bootOf({ unlessBooted }: NodeChange, id: string): Promise<Boot> {
    if (unlessBooted === undefined) return { id };
    return { id, at: (await this.options.host.bootedAt()).toISOString() };
  }

  /**
   * Downloads and verifies ahead of any permission, without changing anything that runs. Returns undefined once it is
   * staged.
   */
  async stageAhead({ stage, revision }: Desired): Promise<Failed | undefined> {
    if (stage === undefined) return undefined;
    const { store, software, log } = this.options;
    if ((await store.read()).staged === stage.id) return undefined;
    const startedMs = performance.now();
    const common = { phase: 'stage', attempt: 1, command: null } as const;
    let dryRun: DryRunEnd | undefined;
    try {
      await software.stage(stage.software);
      if (stage.dryRun !== undefined) dryRun = await dryRunKubeadm(this.options, stage.dryRun);
    } catch (error) {
      const message = wordsOf(error);
      log('warn', 'staging failed', { id: stage.id, cause: message });
      await this.report(stage.id, revision, { ...common, status: 'failed', tookMs: sinceMs(startedMs), message });
      return { item: 'stage', command: error instanceof ExternalFailure ? error.operation : '', message };
    }
    const done = { attempt: 1, status: 'done', tookMs: sinceMs(startedMs), message: null } as const;
    if (dryRun === undefined) await this.report(stage.id, revision, { ...done, phase: 'stage', command: null });
    else {
      const { command, refusal: message } = dryRun;
      const status = message === null ? 'done' : 'failed';
      await this.report(stage.id, revision, { ...done, phase: 'kubeadm', command, status, message });
    }
    await store.write({ staged: stage.id });
    return undefined;
  }

  private async take(step: Extract<NextStep, { phase: ChangePhase }>, task: Task): Promise<Outcome> {
    const { change, revision, bootId } = task;
    const { phase } = step;
    if (step.do === 'confirm') {
      const common = { phase, status: 'done', attempt: step.attempt, tookMs: null } as const;
      await this.report(change.id, revision, {
        ...common,
        command: commandOf(phase, change, this.options.profile),
        message: step.before === true ? 'the host has booted since the request' : null,
      });
      return { record: await this.keep(succeeded(task.record, phase)), failure: undefined };
    }
    const record = await this.keep(began(task.record, phase, bootId));
    const attempt = record.phases[phase]?.attempts ?? 1;
    const common = { phase, attempt, command: commandOf(phase, change, this.options.profile) };
    await this.report(change.id, revision, { ...common, status: 'started', tookMs: null, message: null });
    const startedMs = performance.now();
    try {
      const after = await this.run(phase, { ...task, record });
      await this.report(change.id, revision, { ...common, status: 'done', tookMs: sinceMs(startedMs), message: null });
      return { record: await this.keep(succeeded(after, phase)), failure: undefined };
    } catch (error) {
      if (error instanceof AgentStops) throw error;
      const message = wordsOf(error);
      const tookMs = sinceMs(startedMs);
      await this.report(change.id, revision, { ...common, status: 'failed', tookMs, message });
      const { change: kept } = await this.options.store.read();
      return {
        record: await this.keep(failed(kept ?? record, phase, message.slice(-MESSAGE_LENGTH_MAX))),
        failure: { item: ITEM, command: common.command ?? phase, message },
      };
    }
  }

  /** Returns the record after the phase. */
  private async run(phase: ChangePhase, { change, software, record, ensureRest }: Task): Promise<ChangeRecord> {
    let after = record;
    await runPhase(
      phase,
      { ...this.options, ensureRest },
      {
        change,
        desired: software,
        ownServer: record.ownServer,
        startedKubelet: record.startedKubelet,
        isRepeated: isRepeated(record),
        remember: async (more) => {
          after = await this.keep({ ...after, ...more });
        },
      },
    );
    return after;
  }

  private async keep(record: ChangeRecord): Promise<ChangeRecord> {
    await this.options.store.write({ change: record });
    return record;
  }

  private report(change: string, revision: number, progress: Progress): Promise<void> {
    const { identity, say } = this.options;
    return say([{ type: 'NodeChangeProgressed', data: { ...identity, revision, change, ...progress } }]);
  }
}

type Stop = Extract<NextStep, { readonly do: 'stop' }>;

interface Task {
  readonly change: NodeChange;
  readonly revision: number;
  readonly software: SoftwareVersions;
  readonly record: ChangeRecord;
  readonly bootId: string;
  readonly ensureRest: () => Promise<void>;
}

interface Outcome {
  readonly record: ChangeRecord;
  readonly failure: Failed | undefined;
}

const sinceMs = (startedMs: number): number => Math.round(performance.now() - startedMs);
