import { WorldFailure } from '@fairlead/contracts';
import {
  ApiException,
  AppsV1Api,
  CoreV1Api,
  DiscoveryV1Api,
  KubeConfig,
  type RequestContext,
} from '@kubernetes/client-node';
import { Agent, request } from 'node:https';
import { ObjectApi } from './known.resources.js';

/** One request; a slow one is a failed one, and is tried again where that is of use. */
export const CALL_TIMEOUT_MS = 15_000;
/** Each one is a TLS handshake of its own; only evictions are many at a time. */
const SOCKETS_MAX = 4;
const SOCKET_IDLE_MS = 30_000;
const BODY_BYTES_MAX = 1024 * 1024;

/** The library makes a new agent, so a new TLS handshake, for each request; this one keeps its connections. */
class KeptAliveConfig extends KubeConfig {
  readonly agent: Agent;

  constructor(kubeconfig: string) {
    super();
    this.loadFromString(kubeconfig);
    const decoded = (base64: string | undefined): Buffer | undefined =>
      base64 === undefined ? undefined : Buffer.from(base64, 'base64');
    const user = this.getCurrentUser();
    this.agent = new Agent({
      keepAlive: true,
      maxSockets: SOCKETS_MAX,
      timeout: SOCKET_IDLE_MS,
      ca: decoded(this.getCurrentCluster()?.caData),
      cert: decoded(user?.certData),
      key: decoded(user?.keyData),
    });
  }

  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    await super.applySecurityAuthentication(context);
    context.setAgent(this.agent);
    context.setSignal(AbortSignal.timeout(CALL_TIMEOUT_MS));
  }
}

const messageOf = (body: unknown): string | undefined => {
  const parsed: unknown = typeof body === 'string' ? parseJson(body) : body;
  return typeof parsed === 'object' && parsed !== null && 'message' in parsed ? String(parsed.message) : undefined;
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
};

const wordsOf = (error: unknown): string => {
  if (error instanceof ApiException) return messageOf(error.body) ?? `HTTP ${error.code}`;
  if (error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError'))
    return `no answer after ${CALL_TIMEOUT_MS / 1000} s`;
  return error instanceof Error ? error.message : String(error);
};

export const statusOf = (error: unknown): number | undefined =>
  error instanceof ApiException ? error.code : undefined;

/** A cluster's API with connections of its own. */
export class KubernetesClient {
  readonly core: CoreV1Api;
  readonly apps: AppsV1Api;
  readonly discovery: DiscoveryV1Api;
  readonly objects: ObjectApi;
  private readonly config: KeptAliveConfig;

  constructor(
    private readonly cluster: string,
    readonly kubeconfig: string,
    private readonly used: () => void,
  ) {
    this.config = new KeptAliveConfig(kubeconfig);
    this.core = this.config.makeApiClient(CoreV1Api);
    this.apps = this.config.makeApiClient(AppsV1Api);
    this.discovery = this.config.makeApiClient(DiscoveryV1Api);
    this.objects = this.config.makeApiClient(ObjectApi);
  }

  /** Does one call and turns what goes wrong into a WorldFailure in the API's own words. */
  async call<T>(operation: string, work: () => Promise<T>): Promise<T> {
    this.used();
    try {
      return await work();
    } catch (error) {
      if (error instanceof WorldFailure) throw error;
      throw new WorldFailure({ operation, target: this.cluster, message: wordsOf(error), cause: error });
    }
  }

  /** The same; an object that is not there (any more) is undefined. */
  async find<T>(operation: string, work: () => Promise<T>): Promise<T | undefined> {
    return this.call(operation, () =>
      work().catch((error: unknown) => {
        if (statusOf(error) === 404) return undefined;
        throw error;
      }),
    );
  }

  /** A plain GET, for what is no object. */
  get(path: string): Promise<{ readonly status: number; readonly text: string }> {
    const url = new URL(path, this.config.getCurrentCluster()?.server);
    return new Promise((resolve, reject) => {
      const signal = AbortSignal.timeout(CALL_TIMEOUT_MS);
      const outgoing = request(url, { agent: this.config.agent, signal }, (response) => {
        const chunks: Buffer[] = [];
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes <= BODY_BYTES_MAX) chunks.push(chunk);
        });
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
        );
      });
      outgoing.on('error', reject);
      outgoing.end();
    });
  }

  close(): void {
    this.config.agent.destroy();
  }
}
