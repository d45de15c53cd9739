import { timestamp, type Clock } from '../clock/clock.js';
import type { ClusterEvent } from '../objects/core.types.js';
import type { Draft, KubeObject } from '../objects/kube.object.js';
import { EVENTS } from '../resources/builtin.resources.js';
import type { ObjectStore } from '../store/object.store.js';
import type { Operation } from '../operations/operation.js';

/** Kubernetes drops events after an hour; the simulation drops the oldest beyond this number. */
const EVENTS_MAX = 500;

type EventOperation = Extract<Operation, { readonly do: 'event' }>;

/** Writes the messages of controllers as Event objects. A repeated message increments the count of its event. */
export class EventRecorder {
  /** Events by message. */
  private readonly known = new Map<string, { readonly namespace: string; readonly name: string }>();

  constructor(
    private readonly store: ObjectStore,
    private readonly clock: Clock,
    private readonly random: (length: number) => string,
  ) {}

  record({ about, type, reason, message }: EventOperation, component: string): void {
    const now = timestamp(this.clock.now());
    const namespace = about.metadata.namespace ?? 'default';
    const identity = `${about.metadata.uid} ${reason} ${message}`;
    const known = this.known.get(identity);
    const same = known === undefined ? undefined : this.store.get(EVENTS, known.namespace, known.name);
    if (same !== undefined) {
      this.store.replace(EVENTS, { ...same, count: (same.count ?? 1) + 1, lastTimestamp: now });
      return;
    }
    this.forgetOldest();
    const words = { type, reason, message, component, suffix: this.random(16) };
    const event = this.store.create(EVENTS, draftOf({ about, now, namespace }, words));
    this.known.set(identity, { namespace, name: event.metadata.name });
  }

  /** A Map iterates in insertion order, so the first entry is the oldest. */
  private forgetOldest(): void {
    const [oldest] = this.known;
    if (oldest === undefined || this.known.size < EVENTS_MAX) return;
    const [identity, { namespace, name }] = oldest;
    this.known.delete(identity);
    const event = this.store.get(EVENTS, namespace, name);
    if (event !== undefined) this.store.remove(EVENTS, event);
  }
}

interface Words {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly component: string;
  readonly suffix: string;
}

const draftOf = (
  { about, now, namespace }: { readonly about: KubeObject; readonly now: string; readonly namespace: string },
  { type, reason, message, component, suffix }: Words,
): Draft<ClusterEvent> =>
  ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${about.metadata.name}.${suffix}`, namespace },
    involvedObject: {
      kind: about.kind,
      apiVersion: about.apiVersion,
      name: about.metadata.name,
      uid: about.metadata.uid,
      resourceVersion: about.metadata.resourceVersion,
      ...(about.metadata.namespace === undefined ? {} : { namespace: about.metadata.namespace }),
    },
    reason,
    message,
    type,
    count: 1,
    firstTimestamp: now,
    lastTimestamp: now,
    source: { component },
    reportingComponent: component,
    reportingInstance: '',
  }) as Draft<ClusterEvent>;
