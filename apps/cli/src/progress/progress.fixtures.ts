import type { EventView } from '../api/api.ports.js';

export const UID = '00000000-0000-4000-8000-000000000001';
export const AT = { namespace: 'default', cluster: 'demo' } as const;
export const BEGIN_MS = Date.parse('2026-11-21T08:00:00.000Z');

export const CONTROL_PLANES = ['demo-cp-1-x7k2p', 'demo-cp-2-9qw3e', 'demo-cp-3-m1n8b'] as const;
export const WORKERS = ['demo-w-1-p4t6z', 'demo-w-2-c5v7r'] as const;
export const [LEADER, SECOND, THIRD] = CONTROL_PLANES;
const NODES = [...CONTROL_PLANES, ...WORKERS];

/** Writes events of one cluster down as a story: `at(1.5, 'HostReached', { node })` is one and a half seconds after the beginning. */
export class Story {
  readonly events: EventView[] = [];

  constructor(private readonly uid: string = UID) {}

  at(seconds: number, type: string, data: Readonly<Record<string, unknown>> = {}): this {
    const seq = (this.events.at(-1)?.seq ?? 100) + 1;
    this.events.push({
      seq,
      id: `event-${seq}`,
      type,
      time: new Date(BEGIN_MS + seconds * 1_000).toISOString(),
      namespace: AT.namespace,
      cluster: AT.cluster,
      context: 'any',
      source: '/any',
      actor: 'user/ada',
      correlationId: 'event-101',
      causationId: `event-${seq - 1}`,
      sentence: type,
      data: { uid: this.uid, ...data },
    });
    return this;
  }

  /** The same for each of them, a tenth of a second apart. */
  each(seconds: number, type: string, nodes: readonly string[], data: Readonly<Record<string, unknown>> = {}): this {
    nodes.forEach((node, index) => this.at(seconds + index / 10, type, { node, ...data }));
    return this;
  }

  requested(seconds: number): this {
    const set = { connection: 'lab', spec: 'lab.medium' };
    return this.at(seconds, 'ClusterRequested', {
      spec: {
        name: AT.cluster,
        controlPlane: { ...set, count: 3 },
        workers: [{ ...set, count: 2 }],
        kubernetes: { version: 'v1.34.4' },
      },
    });
  }

  machines(seconds: number): this {
    this.at(seconds, 'ClusterAccepted').at(seconds + 0.5, 'VmsPlanned', {
      machines: NODES.map((name) => ({ name, role: name.includes('-cp-') ? 'control-plane' : 'worker' })),
    });
    NODES.forEach((name, index) => this.at(seconds + 2 + index / 10, 'VmCreated', { machine: { name } }));
    return this.at(seconds + 2.5, 'VmsCreated').at(seconds + 2.8, 'LoadBalancerReady', {
      kind: 'haproxy',
      host: '127.10.0.1',
      port: 6443,
    });
  }

  hosts(seconds: number): this {
    return this.each(seconds, 'HostReached', NODES)
      .each(seconds + 0.6, 'AgentStarted', NODES)
      .each(seconds + 2, 'NodeInitialized', NODES)
      .each(seconds + 2.6, 'NodeBootstrapped', NODES);
  }

  controlPlane(seconds: number): this {
    return this.at(seconds, 'ControlPlaneInitialized', { node: LEADER })
      .at(seconds + 0.3, 'NetworkReady', { cni: 'flannel', version: '0.26.1' })
      .each(seconds + 0.5, 'NodeReady', [LEADER], { software: { kubelet: '1.34.4' } })
      .at(seconds + 1, 'ControlPlaneJoined', { node: SECOND })
      .at(seconds + 2, 'ControlPlaneJoined', { node: THIRD })
      .at(seconds + 2.2, 'ControlPlaneReady', { nodes: CONTROL_PLANES });
  }

  workers(seconds: number): this {
    return this.each(seconds, 'WorkerJoined', WORKERS).each(seconds + 0.4, 'NodeReady', [SECOND, THIRD, ...WORKERS], {
      software: { kubelet: '1.34.4' },
    });
  }

  ready(seconds: number): this {
    return this.at(seconds, 'AddonInstalled', { addon: 'kube-proxy', version: '1.34.4' })
      .at(seconds, 'AddonInstalled', { addon: 'coredns', version: '1.12.1' })
      .at(seconds + 0.1, 'ClusterReady');
  }

  /** From the wish to Ready in 14.1 s. */
  created(): this {
    return this.requested(0).machines(0.2).hosts(3.5).controlPlane(8).workers(12).ready(14);
  }

  failing(
    seconds: number,
    type: 'BootstrapStepFailed' | 'InfrastructureStepFailed',
    data: Readonly<Record<string, unknown>>,
  ): this {
    const next = data['nextInSeconds'];
    return this.at(seconds, type, {
      cause: { operation: 'kubeadm init', target: LEADER, message: 'timed out waiting for the condition' },
      attempt: 1,
      attemptsMax: 5,
      ...data,
      nextAttemptAt: typeof next === 'number' ? new Date(BEGIN_MS + (seconds + next) * 1_000).toISOString() : null,
    });
  }
}
