import {
  heartbeatSubject,
  partitionOf,
  releaseOf,
  streamSubject,
  type ClusterUid,
  type EventData,
  type Fact,
  type NodeName,
} from '@fairlead/contracts';
import { decode, JetStreamStore } from '@fairlead/event-sourcing/jetstream';
import { writerOf } from '@fairlead/event-sourcing/spec';
import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import { randomUUID } from 'node:crypto';
import type { LabCluster } from '../../../libs/kubernetes/test/lab.cluster.js';

const FIRST_HASH = '0'.repeat(64);
const BEAT_MS = 500;

/** Appends a fact to its own stream, as any service. */
export type Tell = (context: string, fact: Fact) => Promise<void>;

export const teller = (nc: NatsConnection, cluster = 'demo'): Tell => {
  return async (context, fact) => {
    const stream = { namespace: 'default', cluster, context };
    const { source, actor } = writerOf(stream, fact.type);
    const store = new JetStreamStore({ nc, source, now: () => new Date(), newId: randomUUID });
    for (let tries = 1; tries <= 20; tries += 1) {
      const read = await store.read(`${streamSubject(stream)}.>`, 0);
      const last = read.at(-1);
      const position = {
        seq: last?.event.meta.seq ?? 0,
        streamVersion: read.length,
        hash: last?.hash ?? FIRST_HASH,
      };
      const cause = { actor, correlationId: 'spec', causationId: 'spec' };
      if ((await store.append(stream, position, [fact], cause)).kind === 'appended') return;
    }
    throw new Error(`${fact.type} could not be appended to ${context}`);
  };
};

/**
 * Stand-in agents without hosts: they receive the desired state of their node, change the simulated cluster like
 * kubeadm and a kubelet would, and report. For specs of upgrade-svc alone; the agent has its own specs.
 */
export class StandInAgents {
  private subscription: Subscription | undefined;
  private beating: NodeJS.Timeout | undefined;
  /** The work in progress per node; nodes work in parallel. */
  private readonly work = new Map<string, Promise<void>>();
  readonly failures: unknown[] = [];
  /** IDs of changes, in the order in which nodes completed them. */
  readonly done: string[] = [];

  constructor(
    private readonly nc: NatsConnection,
    private readonly lab: LabCluster,
    private readonly uid: ClusterUid,
    private readonly nodes: readonly string[],
  ) {}

  start(): void {
    const tell = teller(this.nc);
    this.subscription = this.nc.subscribe(`evt.${partitionOf('default', 'demo')}.default.demo.*.DesiredVersionsSet`, {
      callback: (error, message) => {
        const event = error === null ? decode(message.subject, 0, message.data) : undefined;
        if (event?.type !== 'DesiredVersionsSet') return;
        const desired = event.data;
        const before = this.work.get(desired.node) ?? Promise.resolve();
        const answered = before.then(() => this.answer(tell, desired));
        this.work.set(
          desired.node,
          answered.catch((failure: unknown) => void this.failures.push(failure)),
        );
      },
    });
    this.beating = setInterval(() => this.beat(), BEAT_MS);
    this.beat();
  }

  async stop(): Promise<void> {
    clearInterval(this.beating);
    this.subscription?.unsubscribe();
    await Promise.all(this.work.values());
  }

  private beat(): void {
    for (const node of this.nodes) {
      const heartbeat = {
        uid: this.uid,
        node,
        at: new Date().toISOString(),
        bootId: 'boot',
        agentVersion: '1',
        revision: 1,
        ready: true,
        kubernetesReady: true,
        software: {},
      };
      this.nc.publish(heartbeatSubject('default', 'demo', node), JSON.stringify(heartbeat));
    }
  }

  private async answer(tell: Tell, desired: EventData<'DesiredVersionsSet'>): Promise<void> {
    const { uid, node, revision, software, change, stage, changesAllowed } = desired;
    const context = `node-${node}`;
    const progressed = (id: string, phase: 'stage' | 'kubeadm'): Fact => ({
      type: 'NodeChangeProgressed',
      data: {
        uid,
        node,
        revision,
        change: id,
        phase,
        status: 'done',
        attempt: 1,
        tookMs: 1,
        command: null,
        message: null,
      },
    });
    if (stage !== undefined)
      await tell(context, progressed(stage.id, stage.dryRun === undefined ? 'stage' : 'kubeadm'));
    if (change !== undefined && changesAllowed && !this.done.includes(change.id)) {
      const message = `change ${change.id}`;
      await tell(context, {
        type: 'NodeNotReady',
        data: { uid, node, revision, reason: 'SoftwareChange', message },
      });
      this.change(node, change, software);
      this.done.push(change.id);
      await tell(context, progressed(change.id, 'kubeadm'));
    }
    const report = { uid, node, revision, software };
    await tell(context, {
      type: 'NodeInitialized',
      data: { ...report, os: 'Debian GNU/Linux 12', kernel: '6.1.0', bootId: 'boot', changed: [] },
    });
    await tell(context, { type: 'NodeReady', data: report });
  }

  private change(
    node: NodeName,
    change: NonNullable<EventData<'DesiredVersionsSet'>['change']>,
    software: Readonly<Record<string, string>>,
  ): void {
    const { simulated } = this.lab;
    if (change.kubernetes !== null && releaseOf(change.kubernetes) === undefined)
      throw new Error(`nobody can install ${change.kubernetes}`);
    if (change.kubeadm === 'apply' && change.kubernetes !== null) simulated.setVersion(change.kubernetes);
    if (change.kubeadm !== null && change.kubernetes !== null && node.includes('-cp-'))
      simulated.setControlPlaneVersion(node, change.kubernetes);
    const kubelet = software['kubelet'];
    if (kubelet !== undefined) simulated.setKubelet(node, { running: true, version: `v${kubelet}` });
  }
}
