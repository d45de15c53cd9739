import { WorldFailure } from '@fairlead/contracts';
import {
  AdmissionregistrationV1Api,
  ApiException,
  AppsV1Api,
  BatchV1Api,
  CertificatesV1Api,
  CoordinationV1Api,
  CoreV1Api,
  createConfiguration,
  DiscoveryV1Api,
  KubeConfig,
  PolicyV1Api,
  ServerConfiguration,
  StorageV1Api,
  type ApiType,
  type Configuration,
  type RequestContext,
} from '@kubernetes/client-node';
import { Agent } from 'node:https';
import { createSecureContext } from 'node:tls';
import { ask, httpLibrary } from './http.requests.js';
import { sealedAdministrator, type Administrator, type RecordedCluster } from './kubeconfig.js';
import { ObjectApi } from './known.resources.js';
import { runProgram, type ExecResult, type ExecTarget } from './program.exec.js';

/** One request; a slow one is a failed one, and is tried again where that is of use. */
export const CALL_TIMEOUT_MS = 15_000;
/** Each one is a separate TLS handshake; only evictions are many at a time. */
const SOCKETS_MAX = 4;
const SOCKET_IDLE_MS = 30_000;
const BODY_BYTES_MAX = 1024 * 1024;

const NAME = 'cluster';

/**
 * The library makes a new agent, so a new TLS handshake, for each request; this one keeps its connections. It is built from an
 * administrator's certificate and key and nothing else: no program is run for a credential, no file read, no proxy asked.
 */
class KeptAliveConfig extends KubeConfig {
  readonly agent: Agent;

  constructor(readonly administrator: Administrator) {
    super();
    const { server, ca, certificate, key } = administrator;
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    this.loadFromOptions({
      clusters: [{ name: NAME, server, caData: base64(ca), skipTLSVerify: false }],
      users: [{ name: NAME, certData: base64(certificate), keyData: base64(key) }],
      contexts: [{ name: NAME, cluster: NAME, user: NAME }],
      currentContext: NAME,
    });
    this.agent = new Agent({
      keepAlive: true,
      maxSockets: SOCKETS_MAX,
      timeout: SOCKET_IDLE_MS,
      rejectUnauthorized: true,
      // Made once: parsing the certificates is a large part of a new connection.
      secureContext: createSecureContext({ ca, cert: certificate, key }),
    });
  }

  /** The library's own makes an agent for each request, which would be of no use. */
  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    context.setAgent(this.agent);
    context.setSignal(AbortSignal.timeout(CALL_TIMEOUT_MS));
  }

  /** The same as the library's, but for how a request is sent. */
  override makeApiClient<T extends ApiType>(apiClientType: new (config: Configuration) => T): T {
    const baseServer = new ServerConfiguration(this.administrator.server, {});
    return new apiClientType(createConfiguration({ baseServer, authMethods: { default: this }, httpApi: httpLibrary }));
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

/** A WebSocket that fails to open emits an event with a message, which is not an Error. */
const isErrorEvent = (error: unknown): error is { readonly message: string } =>
  typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string';

const wordsOf = (error: unknown): string => {
  if (error instanceof ApiException) return messageOf(error.body) ?? `HTTP ${error.code}`;
  if (error instanceof Error && (error.name === 'AbortError' || error.name === 'TimeoutError'))
    return `no answer after ${CALL_TIMEOUT_MS / 1000} s`;
  return isErrorEvent(error) ? error.message : String(error);
};

export const statusOf = (error: unknown): number | undefined =>
  error instanceof ApiException ? error.code : undefined;

interface Page<T> {
  readonly metadata?: { readonly _continue?: string } | undefined;
  readonly items: readonly T[];
}

const PAGE_ITEMS_MAX = 500;
/** 500 items each: more objects of one kind than any cluster may have pods (150,000). */
const PAGES_MAX = 400;

/** A cluster's API with connections of its own. */
export class KubernetesClient {
  readonly core: CoreV1Api;
  readonly apps: AppsV1Api;
  readonly discovery: DiscoveryV1Api;
  readonly policy: PolicyV1Api;
  readonly coordination: CoordinationV1Api;
  readonly admission: AdmissionregistrationV1Api;
  readonly batch: BatchV1Api;
  readonly certificates: CertificatesV1Api;
  readonly storage: StorageV1Api;
  readonly objects: ObjectApi;
  private readonly config: KeptAliveConfig;

  /** Refuses a kubeconfig that is more than the certificate and key of the administrator of the recorded cluster. */
  constructor(
    private readonly cluster: string,
    readonly kubeconfig: string,
    private readonly used: () => void,
    recorded?: RecordedCluster,
  ) {
    this.config = new KeptAliveConfig(sealedAdministrator(kubeconfig, cluster, recorded));
    this.core = this.config.makeApiClient(CoreV1Api);
    this.apps = this.config.makeApiClient(AppsV1Api);
    this.discovery = this.config.makeApiClient(DiscoveryV1Api);
    this.policy = this.config.makeApiClient(PolicyV1Api);
    this.coordination = this.config.makeApiClient(CoordinationV1Api);
    this.admission = this.config.makeApiClient(AdmissionregistrationV1Api);
    this.batch = this.config.makeApiClient(BatchV1Api);
    this.certificates = this.config.makeApiClient(CertificatesV1Api);
    this.storage = this.config.makeApiClient(StorageV1Api);
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

  /** Everything of a kind, page by page. */
  async listAll<T>(
    operation: string,
    page: (at: { readonly limit: number; readonly _continue?: string }) => Promise<Page<T>>,
  ): Promise<readonly T[]> {
    const all: T[] = [];
    let next: string | undefined;
    for (let pages = 0; pages < PAGES_MAX; pages += 1) {
      const at = { limit: PAGE_ITEMS_MAX, ...(next === undefined ? {} : { _continue: next }) };
      const { items, metadata } = await this.call(operation, () => page(at));
      all.push(...items);
      next = metadata?._continue;
      if (next === undefined || next === '') return all;
    }
    throw new WorldFailure({ operation, target: this.cluster, message: `there are more than ${all.length} of them` });
  }

  /** Runs a program in a container and waits for its end. Rejects when it cannot be entered, or when `signal` aborts. */
  exec(target: ExecTarget): Promise<ExecResult> {
    return this.call(`run ${target.command[0]} in ${target.pod}`, () => runProgram(this.config, target));
  }

  /** A plain GET, for what is no object; what is longer than `bytesMax` is cut off. */
  async get(path: string, bytesMax = BODY_BYTES_MAX): Promise<{ readonly status: number; readonly text: string }> {
    const { administrator, agent } = this.config;
    const { status, body } = await ask(
      new URL(path, administrator.server),
      { agent, signal: AbortSignal.timeout(CALL_TIMEOUT_MS) },
      { bytesMax, cutOff: true },
    );
    return { status, text: body.toString('utf8') };
  }

  close(): void {
    this.config.agent.destroy();
  }
}
