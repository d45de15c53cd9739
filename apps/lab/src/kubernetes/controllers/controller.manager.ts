import { ApiError } from '../errors/api.error.js';
import type { Deletion } from '../api/deletion.js';
import type { ObjectApi } from '../api/object.api.js';
import type { Cancel, Clock } from '../clock/clock.js';
import type { KubeObject } from '../objects/kube.object.js';
import type { Change, ObjectStore } from '../store/object.store.js';
import type { Controller } from './controller.js';
import type { EventRecorder } from './event.recorder.js';
import type { Operation } from '../operations/operation.js';

/** How many keys are worked off before other clusters of the process get their turn. */
const BATCH_MAX = 200;

export interface ManagerOptions {
  readonly store: ObjectStore;
  readonly api: ObjectApi;
  readonly deletion: Deletion;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly controllers: readonly Controller[];
  /** While this is false nothing is written: an etcd without quorum takes no writes from controllers either. */
  readonly mayWrite: () => boolean;
}

interface Item {
  readonly controller: Controller;
  readonly key: string;
}

/**
 * Runs the control loops of one cluster. Nothing polls: a change of an object puts the keys it concerns into one queue, a timer puts a key in
 * when its time has come, and the queue is worked off in turns with everything else in the process. An idle cluster costs nothing.
 */
export class ControllerManager {
  private readonly queue = new Map<string, Item>();
  private readonly timers = new Map<string, { readonly atMs: number; readonly cancel: Cancel }>();
  private turn: NodeJS.Immediate | undefined;
  private readonly unsubscribe: () => void;
  private closed = false;

  constructor(private readonly options: ManagerOptions) {
    this.unsubscribe = options.store.subscribe((change) => this.noticed(change));
  }

  /** Looks at everything again: at the start, and when etcd is back. */
  resync(): void {
    for (const controller of this.options.controllers) {
      for (const key of controller.allKeys()) this.enqueue({ controller, key });
    }
  }

  /** Has this controller look at a key although no object changed (a kubelet that stopped, for instance). */
  look(name: string, key: string): void {
    const controller = this.options.controllers.find((candidate) => candidate.name === name);
    if (controller === undefined) throw new Error(`there is no controller ${name}`);
    this.enqueue({ controller, key });
  }

  /** Works off everything that is due now. For tests, and for callers that need to see the outcome of what they just did. */
  settle(): void {
    for (let left = 100_000; left > 0 && this.queue.size > 0 && this.options.mayWrite(); left -= 1) this.next();
  }

  close(): void {
    this.closed = true;
    this.unsubscribe();
    if (this.turn !== undefined) clearImmediate(this.turn);
    for (const { cancel } of this.timers.values()) cancel();
    this.timers.clear();
    this.queue.clear();
  }

  private noticed(change: Change): void {
    for (const controller of this.options.controllers) {
      for (const key of controller.keysFor(change)) this.enqueue({ controller, key });
    }
  }

  private enqueue(item: Item): void {
    if (this.closed) return;
    this.queue.set(idOf(item), item);
    this.turn ??= setImmediate(() => this.work());
  }

  private work(): void {
    this.turn = undefined;
    if (!this.options.mayWrite()) {
      this.queue.clear();
      return;
    }
    for (let left = BATCH_MAX; left > 0 && this.queue.size > 0; left -= 1) this.next();
    if (this.queue.size > 0) this.turn ??= setImmediate(() => this.work());
  }

  private next(): void {
    const [first] = this.queue;
    if (first === undefined) return;
    const [id, item] = first;
    this.queue.delete(id);
    this.timers.get(id)?.cancel();
    this.timers.delete(id);
    for (const operation of item.controller.plan(item.key)) {
      if (!this.run(operation, item)) return;
    }
  }

  /** False when the API refused: the rest of the plan rests on it, and the next change brings the key back. */
  private run(operation: Operation, item: Item): boolean {
    const { api, deletion, events } = this.options;
    try {
      switch (operation.do) {
        case 'create':
          api.create(operation.resource, operation.draft);
          return true;
        case 'replace': {
          const current = this.present(operation);
          if (current === undefined) return true;
          // Someone, maybe this very plan, wrote since: what was planned from the old state would undo it. Plan again.
          if (current.metadata.resourceVersion !== operation.object.metadata.resourceVersion) this.enqueue(item);
          else api.stored(operation.resource, operation.object);
          return true;
        }
        case 'delete': {
          const current = this.present(operation);
          if (current === undefined) return true;
          const grace = operation.graceSeconds === undefined ? {} : { gracePeriodSeconds: operation.graceSeconds };
          const order = operation.foreground === true ? { propagationPolicy: 'Foreground' as const } : {};
          deletion.delete(operation.resource, current, { ...grace, ...order });
          return true;
        }
        case 'finalize':
          this.options.store.remove(operation.resource, operation.object);
          return true;
        case 'event':
          events.record(operation, item.controller.name);
          return true;
        case 'again':
          this.later(item, operation.atMs);
          return true;
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return false;
    }
  }

  /** The object of an operation as it is now; undefined when it is gone, also when another one has its name. */
  private present({
    resource,
    object,
  }: Extract<Operation, { readonly do: 'replace' | 'delete' }>): KubeObject | undefined {
    const current = this.options.store.get(resource, object.metadata.namespace, object.metadata.name);
    return current?.metadata.uid === object.metadata.uid ? current : undefined;
  }

  /** One timer per key: the earliest request counts. */
  private later(item: Item, atMs: number): void {
    const id = idOf(item);
    const pending = this.timers.get(id);
    if (pending !== undefined && pending.atMs <= atMs) return;
    pending?.cancel();
    const cancel = this.options.clock.at(atMs, () => {
      this.timers.delete(id);
      this.enqueue(item);
    });
    this.timers.set(id, { atMs, cancel });
  }
}

const idOf = ({ controller, key }: Item): string => `${controller.name}|${key}`;
