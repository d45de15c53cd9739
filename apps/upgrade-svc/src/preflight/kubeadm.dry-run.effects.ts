import { streamSubject, type EventData, type StoredEvent } from '@fairlead/contracts';
import type { EventStore } from '@fairlead/event-sourcing';
import type { Handle } from '@fairlead/event-sourcing/jetstream';
import { parseKubeadmRefusal } from '@fairlead/parsers';
import { setTimeout as sleep } from 'node:timers/promises';
import { sayToNode } from '../desired/decisions.js';
import type { DryRunRequest } from '../plan/upgrade.planner.js';
import { viewOf, type RolloutContext } from '../rollout/rollout.context.js';
import type { CheckUpgrade } from '../rollout/rollout.tasks.js';
import type { ClusterFacts, DryRunFacts, Unread } from '../rules/cluster.facts.js';

/** The agent downloads a 60 MB program and runs it twice. */
const LIMIT_MS = 4 * 60_000;
const WORDS_LENGTH_MAX = 16_384;
/** A declared upgrade that waits is checked repeatedly: the dry run is repeated once its result is older than this. */
const ANSWER_VALID_MS = 15 * 60_000;

export interface DryRunParts {
  readonly store: EventStore;
  readonly handle: Handle;
  readonly now: () => Date;
  /** Interval between two checks for the agent's result. */
  readonly lookEveryMs: number;
}

type DryRunResult = Pick<ClusterFacts, 'dryRun'> & { readonly unread: readonly Unread[] };

const notRun = ({ node }: DryRunRequest, message: string): DryRunResult => ({
  dryRun: null,
  unread: [{ what: `kubeadm's dry run on ${node}`, rule: 'B13', message }],
});

const answered = (request: DryRunRequest, refusal: DryRunFacts['refusal']): DryRunResult => ({
  dryRun: { node: request.node, version: request.kubernetes, refusal },
  unread: [],
});

/** The agent's report: the result of the dry run, or why it did not run. */
const answerOf = (
  request: DryRunRequest,
  { phase, status, message }: EventData<'NodeChangeProgressed'>,
): DryRunResult => {
  const words = message ?? 'the agent gave no reason';
  if (status === 'failed' && phase === 'stage') return notRun(request, words);
  // An agent of an earlier release stages kubeadm, but does not run it.
  if (phase === 'stage') return { dryRun: null, unread: [] };
  if (status === 'done') return answered(request, null);
  return answered(request, parseKubeadmRefusal(words.slice(-WORDS_LENGTH_MAX), { lengthMax: WORDS_LENGTH_MAX }));
};

/** The kubeadm dry run of an upgrade, on the first control plane of its plan, before any change (B13). */
export class KubeadmDryRuns {
  constructor(private readonly parts: DryRunParts) {}

  /** Waits for the agent's result; after a crash, returns the result in the log. */
  async run(task: RolloutContext<CheckUpgrade>, request: DryRunRequest): Promise<DryRunResult> {
    const before = await this.answers(task, request);
    const last = before.at(-1);
    const isValid = (at: string): boolean => this.parts.now().getTime() - Date.parse(at) < ANSWER_VALID_MS;
    if (last !== undefined && isValid(last.meta.time)) return answerOf(request, last.data);
    return this.ask(task, request, `${this.prefix(task)}-${before.length + 1}`);
  }

  private async ask(task: RolloutContext<CheckUpgrade>, request: DryRunRequest, id: string): Promise<DryRunResult> {
    const { uid } = task.data;
    const { node, kubernetes, ignoredPreflightErrors } = request;
    const stage = {
      software: { kubeadm: kubernetes.slice(1) },
      dryRun: { kubernetes, ignoredPreflightErrors: [...ignoredPreflightErrors] },
    };
    await sayToNode(this.parts.handle, task, node, { type: 'SetStage', data: { uid, node, id, stage } });
    try {
      return await this.answerTo(task, request, id);
    } finally {
      if (!task.signal.aborted)
        await sayToNode(this.parts.handle, task, node, { type: 'SetStage', data: { uid, node, id } });
    }
  }

  private async answerTo(
    task: RolloutContext<CheckUpgrade>,
    request: DryRunRequest,
    id: string,
  ): Promise<DryRunResult> {
    const { lookEveryMs } = this.parts;
    for (let waitedMs = 0; waitedMs < LIMIT_MS; waitedMs += lookEveryMs) {
      const found = (await this.answers(task, request)).find(({ data }) => data.change === id);
      if (found !== undefined) return answerOf(request, found.data);
      await sleep(lookEveryMs, undefined, { signal: task.signal });
    }
    return notRun(request, `its agent has not answered within ${LIMIT_MS / 60_000} minutes`);
  }

  private prefix(task: RolloutContext<CheckUpgrade>): string {
    return `${viewOf(task).upgrade.id}/dry-run`;
  }

  /** The results of this node's agent for this upgrade, oldest first. */
  private async answers(
    task: RolloutContext<CheckUpgrade>,
    { node }: DryRunRequest,
  ): Promise<readonly StoredEvent<'NodeChangeProgressed'>[]> {
    const { namespace, cluster } = task;
    const subject = streamSubject({ namespace, cluster, context: `node-${node}` });
    const prefix = `${this.prefix(task)}-`;
    const reports = await this.parts.store.read(`${subject}.NodeChangeProgressed`, 0);
    return reports.flatMap(({ event }) =>
      event.type === 'NodeChangeProgressed' && event.data.change.startsWith(prefix) && event.data.status !== 'started'
        ? [event]
        : [],
    );
  }
}
