import { ApiError } from '../errors/api.error.js';
import type { Deletion } from '../api/deletion.js';
import type { ObjectApi } from '../api/object.api.js';
import type { Cancel, Clock } from '../clock/clock.js';
import type { KubeObject } from '../objects/kube.object.js';
import type { Change, ObjectStore } from '../store/object.store.js';
import type { Controller } from './controller.js';
import type { EventRecorder } from './event.recorder.js';
import type { Operation } from '../operations/operation.js';

/** How many keys are processed before other clusters of the process get their turn. */
const BATCH_MAX = 200;

export interface ManagerOptions {
  readonly store: ObjectStore;
  readonly api: ObjectApi;
  readonly deletion: Deletion;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly controllers: readonly Controller[];
  /** If false, nothing is written: an etcd without quorum rejects writes of controllers too. */
  readonly mayWrite: () => boolean;
}

interface Item {
  readonly controller: Controller;
  readonly key: string;
}

/**
 * Runs the controllers of one cluster without polling: a changed object enqueues the keys it affects, a timer enqueues
 * its key when due, and the queue is processed in batches between other work of the process. An idle cluster costs
 * nothing.
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

  /** Enqueues every key: at the start, and when etcd is available again. */
  resync(): void {
    for (const controller of this.options.controllers) {
      for (const key of controller.allKeys()) this.enqueue({ controller, key });
    }
  }

  /** Enqueues a key of this controller although no object changed, e.g. after a kubelet stopped. */
  enqueueKey(name: string, key: string): void {
    const controller = this.options.controllers.find((candidate) => candidate.name === name);
    if (controller === undefined) throw new Error(`there is no controller ${name}`);
    this.enqueue({ controller, key });
  }

  /** Processes everything that is due now. For tests, and for callers that need the outcome at once. */
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

  /**
   * Returns false if the API refused the operation: the rest of the plan depends on it, and the next change enqueues
   * the key again.
   */
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
          // The object changed since it was planned, possibly by this plan. Writing would undo that change, so plan
          // again.
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

  /** The current object of an operation; undefined if it is gone or replaced by another of the same name. */
  private present({
    resource,
    object,
  }: Extract<Operation, { readonly do: 'replace' | 'delete' }>): KubeObject | undefined {
    const current = this.options.store.get(resource, object.metadata.namespace, object.metadata.name);
    return current?.metadata.uid === object.metadata.uid ? current : undefined;
  }

  /** One timer per key, for its earliest request. */
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
