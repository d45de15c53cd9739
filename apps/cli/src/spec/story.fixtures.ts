import type { EventView } from '../api/views.js';

const UID = '00000000-0000-4000-8000-000000000001';
const BEGIN_MS = Date.parse('2026-11-21T08:00:00.000Z');
export const WORKERS = ['demo-w-1-p4t6z', 'demo-w-2-c5v7r'] as const;

/** Writes events of the cluster demo down as a story: `at(1.5, 'HostReached', { node })` is one and a half seconds after the beginning. */
export class Story {
  readonly events: EventView[] = [];

  at(seconds: number, type: string, data: Readonly<Record<string, unknown>> = {}): this {
    const seq = (this.events.at(-1)?.seq ?? 100) + 1;
    this.events.push({
      seq,
      id: `event-${seq}`,
      type,
      time: new Date(BEGIN_MS + seconds * 1_000).toISOString(),
      namespace: 'default',
      cluster: 'demo',
      context: 'any',
      source: '/any',
      actor: 'user/ada',
      correlationId: 'event-101',
      causationId: `event-${seq - 1}`,
      sentence: type,
      data: { uid: UID, ...data },
    });
    return this;
  }

  requested(seconds: number): this {
    return this.at(seconds, 'ClusterRequested', { spec: { name: 'demo', kubernetes: { version: 'v1.34.4' } } });
  }
}
