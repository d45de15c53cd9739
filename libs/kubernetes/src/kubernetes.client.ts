import { ExternalFailure } from '@fairlead/contracts';
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
import { Agent, type RequestOptions } from 'node:https';
import { createSecureContext } from 'node:tls';
import { ClusterBudget } from './cluster.budget.js';
import { ask, httpLibrary, OBJECT_BYTES_MAX, WholeBody, type AnswerReader, type HttpAnswer } from './http.requests.js';
import { sealedAdministrator, type Administrator, type RecordedCluster } from './kubeconfig.js';
import { ObjectApi } from './known.resources.js';
import { refuseDenseJson } from './json.bounds.js';
import { LinesBeginning } from './line.reader.js';
import { listPages, ListFailure, PAGE_BYTES_MAX, viewOf, type ListRequest } from './list.pages.js';
import type { Listed } from './plain.object.js';
import { runProgram, type ExecResult, type ExecTarget } from './program.exec.js';

/** Timeout of one request; a slow one fails, and is retried where that is useful. */
export const CALL_TIMEOUT_MS = 15_000;
/** Maximum message of a program's stream; kubelets send 32 KiB. */
const MESSAGE_BYTES_MAX = 1024 * 1024;
/** Maximum length of an error message for people. */
const WORDS_LENGTH_MAX = 1_000;
const STATUS_LENGTH_MAX = 64 * 1024;
/** Each one is a separate TLS handshake; only evictions are numerous. */
const SOCKETS_MAX = 4;
const SOCKET_IDLE_MS = 30_000;
const BODY_BYTES_MAX = 1024 * 1024;

const NAME = 'cluster';

/**
 * The library creates a new agent, so a new TLS handshake, per request; this one keeps its connections. It is built
 * only from an administrator's certificate and key: no credential program, no file, no proxy.
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
      // Created once: parsing the certificates is a large part of a new connection.
      secureContext: createSecureContext({ ca, cert: certificate, key }),
    });
  }

  /** The library's own implementation creates an agent per request. */
  override async applySecurityAuthentication(context: RequestContext): Promise<void> {
    context.setAgent(this.agent);
    context.setSignal(AbortSignal.timeout(CALL_TIMEOUT_MS));
  }

  /** A message of a stream is held in memory until its end. */
  override async applyToHTTPSOptions(options: RequestOptions): Promise<void> {
    await super.applyToHTTPSOptions(options);
    Object.assign(options, { maxPayload: MESSAGE_BYTES_MAX, perMessageDeflate: false });
  }

  /** Like the library's, except for how a request is sent. */
  override makeApiClient<T extends ApiType>(apiClientType: new (config: Configuration) => T): T {
    const baseServer = new ServerConfiguration(this.administrator.server, {});
    return new apiClientType(createConfiguration({ baseServer, authMethods: { default: this }, httpApi: httpLibrary }));
  }
}

const messageOf = (body: unknown): string | undefined => {
  const parsed: unknown = typeof body === 'string' && body.length <= STATUS_LENGTH_MAX ? parseJson(body) : body;
  return typeof parsed === 'object' && parsed !== null && 'message' in parsed
    ? String(parsed.message).slice(0, WORDS_LENGTH_MAX)
    : undefined;
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
  return (isErrorEvent(error) ? error.message : String(error)).slice(0, WORDS_LENGTH_MAX);
};

export const statusOf = (error: unknown): number | undefined =>
  error instanceof ApiException ? error.code : undefined;

/** The body of a successful response; otherwise throws the library's error. */
const okBody = ({ status, headers, body }: HttpAnswer): Buffer => {
  if (status >= 200 && status <= 299) return body;
  throw new ApiException(status, 'no success', body.toString('utf8', 0, STATUS_LENGTH_MAX), { ...headers });
};

const jsonIn = (body: Buffer): unknown => {
  refuseDenseJson(body);
  const value = parseJson(body.toString('utf8'));
  if (value === undefined) throw new ListFailure('it answered with something that is no JSON');
  return value;
};

/** The API of a cluster, with its own connections. */
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
  private readonly budget = new ClusterBudget();

  /** Rejects a kubeconfig with more than the certificate and key of the administrator of the recorded cluster. */
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

  /** Runs a call and converts failures to ExternalFailure with the API's message. */
  async call<T>(operation: string, work: () => Promise<T>): Promise<T> {
    this.used();
    try {
      return await work();
    } catch (error) {
      if (error instanceof ExternalFailure) throw error;
      throw new ExternalFailure({ operation, target: this.cluster, message: wordsOf(error), cause: error });
    }
  }

  /** The same; undefined if the object does not exist. */
  async find<T>(operation: string, work: () => Promise<T>): Promise<T | undefined> {
    return this.call(operation, () =>
      work().catch((error: unknown) => {
        if (statusOf(error) === 404) return undefined;
        throw error;
      }),
    );
  }

  /** All objects of a kind, in pages of at most 8 MiB; objects whose view is undefined are omitted. */
  listAll<T, View extends object>(
    request: ListRequest,
    view: (item: Listed<T>) => View | undefined,
  ): Promise<readonly View[]> {
    const { budget } = this;
    const reader = new WholeBody(PAGE_BYTES_MAX);
    const page = async (path: string, accept: string): Promise<Buffer> =>
      okBody(await this.request(path, reader, { accept }));
    return this.call(request.operation, () => listPages({ budget, page }, request, view));
  }

  /** One object as a view; undefined: not found. */
  read<T, View>(operation: string, path: string, view: (item: Listed<T>) => View): Promise<View | undefined> {
    return this.find(operation, async () => {
      const body = okBody(await this.request(path, new WholeBody(OBJECT_BYTES_MAX)));
      return this.budget.work(() => viewOf(jsonIn(body), view));
    });
  }

  /** Runs a program in a container and waits for its end. Rejects if it cannot be started, or if `signal` aborts. */
  exec(target: ExecTarget): Promise<ExecResult> {
    return this.call(`run ${target.command[0]} in ${target.pod}`, () => runProgram(this.config, target));
  }

  /** A plain GET for something that is not an object; at most one megabyte. */
  async get(path: string): Promise<{ readonly status: number; readonly text: string }> {
    const { status, body } = await this.request(path, new WholeBody(BODY_BYTES_MAX));
    return { status, text: body.toString('utf8') };
  }

  /** The time by the clock of the API server, in whole seconds, as in its responses and objects. */
  nowMs(): Promise<number> {
    return this.call('read the time', async () => {
      const { headers } = await this.request('/version', new WholeBody(BODY_BYTES_MAX));
      const atMs = Date.parse(headers['date'] ?? '');
      if (Number.isNaN(atMs)) throw new Error('its answer has no date');
      return atMs;
    });
  }

  /** JSON that is not a Kubernetes object, such as a kubelet's statistics. */
  async json(path: string): Promise<unknown> {
    const body = okBody(await this.request(path, new WholeBody(PAGE_BYTES_MAX)));
    return this.budget.work(() => jsonIn(body));
  }

  /** Lines of a text that begin with `prefix`, within the first `bytesMax`. */
  lines(
    path: string,
    prefix: string,
    bytesMax: number,
  ): Promise<{ readonly status: number; readonly body: readonly string[] }> {
    return this.request(path, new LinesBeginning(prefix, bytesMax));
  }

  close(): void {
    this.config.agent.destroy();
  }

  private request<Body>(
    path: string,
    reader: AnswerReader<Body>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Omit<HttpAnswer, 'body'> & { readonly body: Body }> {
    const { administrator, agent } = this.config;
    return ask(
      new URL(path, administrator.server),
      { agent, headers, signal: AbortSignal.timeout(CALL_TIMEOUT_MS) },
      reader,
    );
  }
}
