import type { ServerResponse } from 'node:http';
import { badRequest, expired } from '../errors/api.error.js';
import type { Cancel, Clock } from '../clock/clock.js';
import type { KubeObject } from '../objects/kube.object.js';
import { apiVersionOf, qualifiedName, type ResourceDefinition } from '../resources/resource.js';
import type { Change, ObjectStore } from '../store/object.store.js';
import { isTrue } from './request.info.js';
import type { Selection } from './selection.js';

/**
 * A client with more unread data than this is disconnected and must list again, so that slow clients cannot exhaust the
 * memory.
 */
const UNREAD_MAX_BYTES = 8 * 1024 * 1024;
const BOOKMARK_INTERVAL_MS = 60_000;
const TIMEOUT_DEFAULT_MS = 30 * 60_000;

export interface WatchOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly resource: ResourceDefinition;
  readonly selection: Selection;
  /** The single name that the selection matches, or undefined if it may match several. */
  readonly name: string | undefined;
  readonly query: URLSearchParams;
  /** Converts an object to the requested format: version, table or plain. */
  readonly shape: (object: KubeObject) => unknown;
}

/** One open watch: a response with a line of JSON per change, until it times out or either side closes it. */
export class WatchStream {
  private readonly stops: Cancel[] = [];
  private lastSentVersion = 0;
  private open = true;

  constructor(
    private readonly response: ServerResponse,
    private readonly options: WatchOptions,
  ) {}

  /**
   * @throws {ApiError} 400 if the version is not a number. A version that is too old ends the stream with an ERROR
   * event, as in the API.
   */
  start(): void {
    const { query, store, clock } = this.options;
    const asked = query.get('resourceVersion') ?? '';
    if (!/^\d*$/.test(asked)) throw badRequest(`invalid resource version: ${asked}`);
    this.response.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache, private' });
    this.response.flushHeaders();
    this.response.on('close', () => this.stop());
    const resumed = this.sendPast(asked === '' ? 0 : Number(asked));
    if (!resumed) return;
    this.stops.push(store.subscribeTo(this.options, (change) => this.follow(change)));
    const timeoutMs = Number(query.get('timeoutSeconds') ?? 0) * 1000 || TIMEOUT_DEFAULT_MS;
    this.stops.push(clock.at(clock.now() + timeoutMs, () => this.finish()));
    if (isTrue(query.get('allowWatchBookmarks'))) this.bookmarkLater();
  }

  /** Ends the stream gracefully; the client watches again from the last version that it received. */
  finish(): void {
    if (!this.open) return;
    if (isTrue(this.options.query.get('allowWatchBookmarks'))) this.sendBookmark();
    this.stop();
    this.response.end();
  }

  private stop(): void {
    this.open = false;
    for (const stop of this.stops.splice(0)) stop();
  }

  /** Without a version, or with 0, sends the current state first. Otherwise sends the changes since the version. */
  private sendPast(version: number): boolean {
    const { store, resource, selection, query } = this.options;
    if (version === 0 || isTrue(query.get('sendInitialEvents'))) {
      for (const object of store.list(resource).filter(selection)) this.send('ADDED', object);
      this.lastSentVersion = store.currentVersion();
      if (isTrue(query.get('sendInitialEvents'))) this.sendBookmark({ 'k8s.io/initial-events-end': 'true' });
      return true;
    }
    const missed = store.changesAfter(version);
    if (missed === undefined) {
      this.sendLine({
        type: 'ERROR',
        object: expired(`too old resource version: ${version} (${store.currentVersion()})`).status,
      });
      this.finish();
      return false;
    }
    this.lastSentVersion = version;
    for (const change of missed) this.follow(change);
    return true;
  }

  private follow(change: Change): void {
    const { resource, selection } = this.options;
    if (!this.open || qualifiedName(change.resource) !== qualifiedName(resource)) return;
    const was = change.previous !== undefined && selection(change.previous);
    const is = change.type !== 'DELETED' && selection(change.object);
    if (!was && !is) return;
    // An object that no longer matches the selector is sent as deleted, although it still exists.
    this.send(is ? (was ? 'MODIFIED' : 'ADDED') : 'DELETED', change.object);
    this.lastSentVersion = change.version;
  }

  private send(type: string, object: KubeObject): void {
    this.sendLine({ type, object: this.options.shape(object) });
  }

  private sendBookmark(annotations?: Readonly<Record<string, string>>): void {
    const { resource, store } = this.options;
    this.lastSentVersion = store.currentVersion();
    const metadata = {
      resourceVersion: String(this.lastSentVersion),
      creationTimestamp: null,
      ...(annotations === undefined ? {} : { annotations }),
    };
    this.sendLine({ type: 'BOOKMARK', object: { kind: resource.kind, apiVersion: apiVersionOf(resource), metadata } });
  }

  private bookmarkLater(): void {
    const { clock, store } = this.options;
    const cancel = clock.at(clock.now() + BOOKMARK_INTERVAL_MS, () => {
      if (!this.open) return;
      if (store.currentVersion() > this.lastSentVersion) this.sendBookmark();
      this.bookmarkLater();
    });
    // Only the newest bookmark is pending; the previous one has fired.
    this.stops.splice(2, 1, cancel);
  }

  private sendLine(value: unknown): void {
    if (this.response.writableLength > UNREAD_MAX_BYTES) {
      this.stop();
      this.response.destroy();
      return;
    }
    this.response.write(`${JSON.stringify(value)}\n`);
  }
}
