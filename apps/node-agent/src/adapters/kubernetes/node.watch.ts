import { ExternalFailure, wordsOf } from '@fairlead/contracts';
import { parseJson } from '@fairlead/parsers';
import type { AgentLog, HostPort } from '../../node/host.ports.js';
import type { NodeWatch, NodeWatchListener } from '../../agent/agent.ports.js';
import { backoffMs } from '../../time/backoff.js';
import type { Metronome } from '../../time/metronome.js';
import { isDeepStrictEqual } from 'node:util';
import { JoinFolder } from './join.folder.js';
import { BODY_LENGTH_MAX, KubeClient } from './kube.client.js';
import { KubeconfigMemory, readKubeAccess, type KubeAccess } from './kubeconfig.js';
import { NodeList, NodeObject, patchOf, viewOf, WatchLine } from './node.object.js';

/**
 * Backoff while the API does not respond. Short at first: kubelet.conf is created just before the first API server
 * starts.
 */
const RETRY = { firstMs: 50, maxMs: 5_000 };
/** The server ends a watch after this time; a watch that lasts much longer is dead. */
const WATCH_S = 600;
const WATCH_GRACE_MS = 15_000;
/**
 * A watch that ends sooner counts as failed: a server that has just started refuses it until the Node object changes.
 */
const WATCH_LASTS_MS = 10_000;
/** A server may end a watch this much before its timeout. */
const WATCH_EARLY_MS = 500;

export const parseNodeList = (text: string) => NodeList.parse(parseJson(text, { lengthMax: BODY_LENGTH_MAX }));
export const parseWatchLine = (text: string) => WatchLine.parse(parseJson(text, { lengthMax: BODY_LENGTH_MAX }));

export interface NodeWatchOptions {
  readonly node: string;
  readonly host: HostPort;
  readonly metronome: Pick<Metronome, 'after'>;
  readonly random: () => number;
  readonly log: AgentLog;
  readonly watchSeconds?: number;
}

/** Watches the node's own Node object while the agent runs: waits for the join, the API and the object. */
export class KubernetesNodeWatch implements NodeWatch {
  private readonly abort = new AbortController();
  /**
   * Kept while the credentials are unchanged, even if disconnected: parsing the certificates is most of the cost of an
   * attempt.
   */
  private client: KubeClient | undefined;
  private isOpen = false;
  private access: KubeAccess | undefined;
  private readonly kubeconfig = new KubeconfigMemory();
  private readonly watchSeconds: number;
  private last: NodeObject | undefined;
  /** The version from which a watch can resume; undefined: read the object first. */
  private seenVersion: string | undefined;
  private attempt = 0;
  private lastFailure = '';
  private writing = false;
  private endPause = (): void => undefined;
  private readonly joinFolder: JoinFolder;

  constructor(
    private readonly options: NodeWatchOptions,
    private readonly listener: NodeWatchListener,
  ) {
    this.watchSeconds = options.watchSeconds ?? WATCH_S;
    this.joinFolder = new JoinFolder(options.host, () => this.endPause());
    void this.follow();
  }

  metadataChanged(): void {
    if (this.client === undefined || !this.isOpen || this.last === undefined || this.writing) return;
    void this.write(this.client, this.last);
  }

  hostChanged(): void {
    this.attempt = 0;
    this.endPause();
  }

  stop(): void {
    this.abort.abort();
    this.endPause();
    this.disconnect();
  }

  private get path(): string {
    return `/api/v1/nodes/${this.options.node}`;
  }

  /** Lists at most that object. Unlike a GET, a list returns a version to watch from even if the object does not exist. */
  private listPath(more: Readonly<Record<string, string>> = {}): string {
    return `/api/v1/nodes?${new URLSearchParams({ fieldSelector: `metadata.name=${this.options.node}`, ...more })}`;
  }

  private async follow(): Promise<void> {
    while (!this.abort.signal.aborted) {
      const pauseMs = await this.connectAndWatch();
      await this.pause(pauseMs);
    }
    this.joinFolder.leave();
  }

  /** Returns how long to wait before the next attempt. */
  private async connectAndWatch(): Promise<number> {
    const startedAtMs = performance.now();
    const lasted = (): boolean => performance.now() - startedAtMs >= WATCH_LASTS_MS;
    const before = this.isOpen ? this.client : undefined;
    try {
      this.joinFolder.lookBegins();
      const access = await readKubeAccess(this.options.host, this.kubeconfig);
      if (access === undefined) return await this.joinFolder.nextLookMs();
      this.joinFolder.leave();
      const client = this.connect(access);
      await this.watch(client);
      if (!lasted()) return this.nextPauseMs();
      this.attempt = 0;
      return 0;
    } catch (error) {
      const wasOpen = this.client !== undefined && this.client === before;
      this.disconnect();
      // The server may have closed the kept connection since the last watch, which is not a failure of the API.
      if (wasOpen && !lasted()) return 0;
      if (lasted()) this.attempt = 0;
      this.complain(error);
      this.see(undefined);
      return this.nextPauseMs();
    }
  }

  /** Reuses one connection for successive watches: TLS handshakes would be most of the cost of an idle agent. */
  private connect(access: KubeAccess): KubeClient {
    if (this.client === undefined || !isDeepStrictEqual(access, this.access)) {
      this.disconnect();
      this.client = new KubeClient(access);
      this.access = access;
    }
    this.isOpen = true;
    return this.client;
  }

  private disconnect(): void {
    this.client?.disconnect();
    this.isOpen = false;
  }

  private nextPauseMs(): number {
    this.attempt += 1;
    return backoffMs(RETRY, this.attempt, this.options.random);
  }

  private async watch(client: KubeClient): Promise<void> {
    const from = this.seenVersion ?? (await this.read(client));
    this.seenVersion = undefined;
    const startedAtMs = performance.now();
    const version = await this.watchFrom(client, from);
    // A watch that the server ends at its timeout has delivered every change. One that ends sooner may belong to a
    // server that is shutting down, or to a cluster state that is being replaced by a restore.
    const lastedMs = performance.now() - startedAtMs;
    if (lastedMs >= this.watchSeconds * 1_000 - WATCH_EARLY_MS) this.seenVersion = version;
  }

  private async read(client: KubeClient): Promise<string> {
    const { status, body } = await client.ask('GET', this.listPath());
    if (status !== 200) throw this.failure('GET', `HTTP ${status}`);
    const { metadata, items } = parseNodeList(body);
    const [node] = items;
    if (node === undefined) this.complain(this.failure('GET', 'there is no such Node object'));
    else this.lastFailure = '';
    this.see(node);
    return metadata.resourceVersion;
  }

  /**
   * Watches until the server ends the watch. Returns the last version, or undefined if it is too old to resume from.
   */
  private async watchFrom(client: KubeClient, from: string): Promise<string | undefined> {
    const path = this.listPath({ watch: 'true', resourceVersion: from, timeoutSeconds: String(this.watchSeconds) });
    // Not AbortSignal.timeout: it would be garbage-collected, because AbortSignal.any has only a weak reference to it.
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), this.watchSeconds * 1_000 + WATCH_GRACE_MS);
    const signal = AbortSignal.any([this.abort.signal, deadline.signal]);
    let version = from;
    try {
      for await (const line of client.watch(path, signal)) {
        const { type, object } = parseWatchLine(line);
        // "Too old resource version": start again with a read.
        if (type === 'ERROR') return undefined;
        if (type === 'DELETED') throw this.failure('watch', 'the Node object was deleted');
        if (type === 'BOOKMARK') continue;
        const node = NodeObject.parse(object);
        version = node.metadata.resourceVersion;
        this.see(node);
      }
      return deadline.signal.aborted ? undefined : version;
    } finally {
      clearTimeout(timer);
    }
  }

  private see(node: NodeObject | undefined): void {
    const hadNone = this.last === undefined;
    this.last = node;
    if (node === undefined && hadNone) return;
    this.listener.onView(node === undefined ? undefined : viewOf(node));
    this.metadataChanged();
  }

  private async write(client: KubeClient, node: NodeObject): Promise<void> {
    const patch = patchOf(node, this.listener.metadata());
    if (patch === undefined) return;
    this.writing = true;
    try {
      const { status, body } = await client.ask('PATCH', this.path, patch);
      if (status !== 200) this.complain(this.failure('PATCH', `HTTP ${status} ${body.slice(0, 500)}`));
    } catch (error) {
      // The watch also notices that the API is away; everything is compared again when it is back.
      this.complain(error);
    } finally {
      this.writing = false;
    }
  }

  private failure(operation: string, message: string): ExternalFailure {
    return new ExternalFailure({ operation: `${operation} ${this.path}`, target: 'the Kubernetes API', message });
  }

  /** Logs each failure once, not at every retry. */
  private complain(error: unknown): void {
    const message = wordsOf(error);
    if (this.abort.signal.aborted || message === this.lastFailure) return;
    this.lastFailure = message;
    this.options.log('info', 'the Node object cannot be followed yet', { cause: message });
  }

  private pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      if (this.abort.signal.aborted || delayMs === 0 || this.joinFolder.hasChanged) return resolve();
      this.endPause = resolve;
      this.options.metronome.after(delayMs, resolve);
    });
  }
}
