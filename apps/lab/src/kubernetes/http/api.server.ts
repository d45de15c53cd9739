import { EXTERNAL_ETCD } from '@fairlead/contracts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { ApiError, badRequest, noLeader, noSuchPath, notFound, unauthorized } from '../errors/api.error.js';
import type { ToolResult } from '../etcd/etcd.tools.js';
import { runInEtcd, type NoSuchProgram } from '../exec/container.programs.js';
import { answerExec } from '../exec/exec.socket.js';
import type { Pod } from '../objects/core.types.js';
import { PODS } from '../resources/builtin.resources.js';
import { sendError } from './answer.js';
import { denial, isAllowed } from './authorization.js';
import type { ServedCluster } from './exchange.js';
import type { Identity } from '../api/identity.js';
import { ANONYMOUS, authenticate, type TokenAuthentication } from './identity.js';
import { judgementOf } from './judgement.js';
import { answerForm } from './negotiation.js';
import { refuseNotSimulated } from './not.simulated.js';
import { handlePath, isPublicPath } from './plain.paths.js';
import { requestInfo, type PathRequest, type ResourceRequest } from './request.info.js';
import { handleResource } from './resource.handler.js';
import { handleSubresource } from './subresources.js';
import type { WatchStream } from './watch.stream.js';

/** Components whose pods contain etcd tools. */
const ENTERED: ReadonlySet<string> = new Set(['etcd', EXTERNAL_ETCD.component]);

/**
 * One API server process of the simulated control plane: its own address and version, and the cluster's shared state.
 */
export interface ApiEndpoint {
  readonly address: string;
  /** Evaluated for each request, because an upgrade changes it. */
  readonly version: () => string;
  /** Authenticates tokens other than bootstrap tokens; absent: no others are accepted. */
  readonly authentication?: TokenAuthentication;
}

interface Call {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly identity: Identity;
}

/** Handles HTTP requests like a Kubernetes API server. Owns the watches that it opens. */
export class ApiServer {
  private readonly watches = new Set<WatchStream>();

  constructor(
    private readonly cluster: ServedCluster,
    private readonly endpoint: ApiEndpoint,
  ) {}

  /** Never rejects: every failure becomes a `Status` response. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.setHeader('server', 'fairlead-lab-simulated-kube-apiserver');
    response.setHeader('audit-id', request.headers['audit-id'] ?? 'simulation');
    try {
      const info = requestInfo(request.method ?? 'GET', request.url ?? '/');
      const identity = await this.identify(request);
      const call = { request, response, identity };
      if (info.kind === 'path') await this.path(call, info);
      else await this.resource(call, info);
    } catch (error) {
      this.fail(response, error);
    }
  }

  /** Handles a WebSocket upgrade; only exec uses them. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    try {
      const info = requestInfo(request.method ?? 'GET', request.url ?? '/');
      if (info.kind !== 'resource') throw noSuchPath();
      this.authorize(await this.identify(request), info);
      refuseNotSimulated(info, request);
      if (info.plural !== 'pods' || info.subresource !== 'exec') throw noSuchPath();
      answerExec({ request, socket, head }, this.exec(info));
    } catch (error) {
      refuseUpgrade(socket, error);
    }
  }

  /** Ends all open watches. */
  close(): void {
    for (const watch of this.watches) watch.finish();
    this.watches.clear();
  }

  private exec({ namespace, name = '', query }: ResourceRequest): ToolResult | NoSuchProgram {
    const pod: Pod | undefined = this.cluster.store.get(PODS, namespace, name);
    if (pod === undefined) throw notFound(PODS, name);
    if (pod.status?.phase !== 'Running') throw badRequest(`pod ${name} does not have a host assigned or does not run`);
    if (!ENTERED.has(pod.metadata.labels?.['component'] ?? ''))
      throw new ApiError(501, 'NotImplemented', 'this cluster is a simulation: only its etcd can be entered');
    const call = { etcd: this.cluster.etcd, self: pod.spec.nodeName ?? '', files: this.cluster.filesOf(pod) };
    return runInEtcd(call, query.getAll('command'));
  }

  private identify(request: IncomingMessage): Promise<Identity> {
    const { authentication } = this.endpoint;
    return authenticate(request, {
      checkToken: (token) => this.cluster.checkToken(token),
      identify: async (token) => authentication?.identify(token),
    });
  }

  private async path({ request, response, identity }: Call, info: PathRequest): Promise<void> {
    if (identity === ANONYMOUS && !isPublicPath(info.path)) throw unauthorized();
    const own = info.path === '/metrics' ? await this.endpoint.authentication?.metrics() : undefined;
    handlePath(info, {
      response,
      accept: request.headers.accept ?? '',
      resources: this.cluster.registry.all(),
      address: this.endpoint.address,
      version: this.endpoint.version(),
      hasQuorum: this.cluster.hasQuorum(),
      metrics: () => `${this.cluster.deprecatedRequests.metrics()}${own ?? ''}`,
    });
  }

  private async resource(call: Call, info: ResourceRequest): Promise<void> {
    const { request, response, identity } = call;
    this.authorize(identity, info);
    refuseNotSimulated(info, request);
    const resource = this.cluster.registry.find(info.group, info.version, info.plural);
    if (resource === undefined || (!resource.namespaced && info.namespace !== undefined)) throw noSuchPath();
    if (!this.cluster.hasQuorum()) throw noLeader();
    this.cluster.deprecatedRequests.note(resource, info, response);
    const form = answerForm(request.headers.accept);
    const exchange = { cluster: this.cluster, identity, info, resource, form, request, response };
    if (info.subresource !== undefined) return handleSubresource(exchange);
    return handleResource(exchange, (watch) => {
      this.watches.add(watch);
      response.on('close', () => this.watches.delete(watch));
    });
  }

  private authorize(identity: Identity, info: ResourceRequest): void {
    if (isAllowed(identity, info, judgementOf(this.cluster.store))) return;
    if (identity === ANONYMOUS) throw unauthorized();
    throw new ApiError(403, 'Forbidden', denial(identity, info), {
      ...(info.name === undefined ? {} : { name: info.name }),
      kind: info.plural,
    });
  }

  private fail(response: ServerResponse, error: unknown): void {
    if (response.headersSent) {
      response.destroy();
      return;
    }
    if (error instanceof ApiError) return sendError(response, error);
    // A bug of the simulation: report it with its stack instead of crashing the whole lab.
    const words = error instanceof Error ? (error.stack ?? error.message) : String(error);
    sendError(response, new ApiError(500, 'InternalError', `the simulated API server failed: ${words}`));
  }
}

/** Refuses an upgrade like an API server: sends a plain HTTP response and closes the connection. */
const refuseUpgrade = (socket: Duplex, error: unknown): void => {
  const status =
    error instanceof ApiError
      ? error.status
      : new ApiError(500, 'InternalError', `the simulated API server failed: ${String(error)}`).status;
  const text = JSON.stringify(status);
  const head = [
    `HTTP/1.1 ${status.code} ${status.reason ?? ''}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${text}`);
};
