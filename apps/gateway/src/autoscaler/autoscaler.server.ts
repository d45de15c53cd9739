import * as grpc from '@grpc/grpc-js';
import { certificateIn, keyIn } from '@fairlead/embedded/credentials';
import { REFUSALS, ExternalFailure, wordsOf, type Refusal } from '@fairlead/contracts';
import {
  Inject,
  Injectable,
  Logger,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { SETTINGS, type Settings } from '../config.js';
import { isOutage } from '../http/outage.js';
import { RefusalError } from '../http/refusal.error.js';
import { AutoscalerAccess } from './autoscaler.access.js';
import { AutoscalerAuthority } from './autoscaler.authority.js';
import { AutoscalerCalls, type Call } from './autoscaler.calls.js';
import { AutoscalerListener } from './autoscaler.listener.js';
import {
  decodeMessage,
  encodeMessage,
  METHODS,
  SERVICE,
  type MessageName,
  type Method,
} from './externalgrpc.messages.js';

const MIB = 1_024 * 1_024;
const OPTIONS: grpc.ServerOptions = {
  // A request that removes nodes has their labels and annotations in it.
  'grpc.max_receive_message_length': 4 * MIB,
  'grpc.max_send_message_length': 4 * MIB,
  'grpc.max_concurrent_streams': 32,
  'grpc.keepalive_time_ms': 60_000,
  'grpc.keepalive_timeout_ms': 20_000,
};
/** A call whose client sets no deadline, or a far one, ends after this. */
const CALL_MAX_MS = 30_000;
const STOP_MS = 1_000;
/** A refusal travels in a header of HTTP/2, which clients take up to 8 KiB of; what a caller sent may be part of it. */
const DETAILS_LENGTH_MAX = 1_000;

/** What the client is to make of a refusal, by the HTTP status that the REST API gives it. */
const CODES: Readonly<Partial<Record<number, grpc.status>>> = {
  400: grpc.status.INVALID_ARGUMENT,
  401: grpc.status.UNAUTHENTICATED,
  403: grpc.status.PERMISSION_DENIED,
  404: grpc.status.NOT_FOUND,
  409: grpc.status.FAILED_PRECONDITION,
  422: grpc.status.FAILED_PRECONDITION,
  429: grpc.status.RESOURCE_EXHAUSTED,
  503: grpc.status.UNAVAILABLE,
  507: grpc.status.RESOURCE_EXHAUSTED,
};

const OWN_CODES: Readonly<Partial<Record<Refusal['code'], grpc.status>>> = {
  'pool.scale-out-of-bounds': grpc.status.OUT_OF_RANGE,
  'autoscaler.nodes-exist': grpc.status.OUT_OF_RANGE,
  'quota.exceeded': grpc.status.RESOURCE_EXHAUSTED,
  'cluster.busy': grpc.status.UNAVAILABLE,
  'conflict.concurrent': grpc.status.ABORTED,
};

class Unimplemented extends Error {
  constructor(method: Method) {
    super(`${method} is not offered: this provider knows no prices`);
  }
}

const codeOf = ({ code }: Refusal): grpc.status =>
  OWN_CODES[code] ?? CODES[REFUSALS[code].status] ?? grpc.status.INTERNAL;

const shortened = (text: string): string =>
  text.length <= DETAILS_LENGTH_MAX ? text : `${text.slice(0, DETAILS_LENGTH_MAX)}...`;

const statusOf = (error: unknown): Pick<grpc.StatusObject, 'code' | 'details'> => {
  if (error instanceof RefusalError) {
    const [refusal] = error.refusals;
    const message = shortened(refusal.message);
    return { code: codeOf(refusal), details: `${message}. ${refusal.help ?? ''} (${refusal.code})` };
  }
  if (isOutage(error) || error instanceof ExternalFailure)
    return { code: grpc.status.UNAVAILABLE, details: 'The event log or the database does not answer. Try again.' };
  if (error instanceof Unimplemented) return { code: grpc.status.UNIMPLEMENTED, details: error.message };
  if (error instanceof DOMException) return { code: grpc.status.DEADLINE_EXCEEDED, details: 'The deadline is over.' };
  return { code: grpc.status.INTERNAL, details: 'Internal error; the log of the gateway has the cause.' };
};

/** Serves Cluster Autoscaler's `externalgrpc` protocol, to clients with a certificate of ours only. */
@Injectable()
export class AutoscalerServer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly log = new Logger('autoscaler');
  private server: grpc.Server | undefined;
  private listener: AutoscalerListener | undefined;
  private port = 0;
  private serving: Promise<void> | undefined;

  constructor(
    @Inject(SETTINGS) private readonly settings: Pick<Settings, 'autoscaler'>,
    @Inject(AutoscalerAuthority) private readonly authority: AutoscalerAuthority,
    @Inject(AutoscalerAccess) private readonly access: AutoscalerAccess,
    @Inject(AutoscalerCalls) private readonly calls: AutoscalerCalls,
  ) {}

  /** Where clusters reach it; undefined: it is not served. */
  get address(): string | undefined {
    const { autoscaler } = this.settings;
    if (autoscaler === undefined) return undefined;
    const { host, port } = autoscaler.address;
    return `${host.includes(':') ? `[${host}]` : host}:${port === 0 ? this.port : port}`;
  }

  onApplicationBootstrap(): Promise<void> {
    // Nest calls this once for the HTTP part of the application and once for its transport.
    this.serving ??= this.serve();
    return this.serving;
  }

  private async serve(): Promise<void> {
    const { autoscaler } = this.settings;
    if (autoscaler === undefined) return;
    const { host, port } = autoscaler.listen;
    const pair = await this.authority.serverPair([autoscaler.address.host]);
    const server = new grpc.Server(OPTIONS);
    server.addService(definition, this.handlers());
    this.server = server;
    this.listener = new AutoscalerListener(
      { ca: certificateIn(await this.authority.pair()), cert: certificateIn(pair), key: keyIn(pair) },
      server.createConnectionInjector(grpc.ServerCredentials.createInsecure()),
    );
    this.port = await this.listener.listen(host, port);
    this.log.log(`autoscalers are served at ${this.address}`);
  }

  async beforeApplicationShutdown(): Promise<void> {
    const { server } = this;
    if (server === undefined) return;
    this.listener?.close();
    const cut = setTimeout(() => server.forceShutdown(), STOP_MS);
    await new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
    clearTimeout(cut);
  }

  private handlers(): grpc.UntypedServiceImplementation {
    const methods = Object.keys(METHODS) as Method[];
    return Object.fromEntries(methods.map((method) => [method, this.handlerOf(method)]));
  }

  private handlerOf(method: Method): grpc.handleUnaryCall<unknown, unknown> {
    return (call, answer) => {
      this.answerTo(method, call).then(
        (value) => answer(null, value),
        (error: unknown) => {
          const status = statusOf(error);
          if (status.code === grpc.status.INTERNAL) this.log.error(`${method}: ${wordsOf(error)}`);
          answer(status);
        },
      );
    };
  }

  private async answerTo(method: Method, call: grpc.ServerUnaryCall<unknown, unknown>): Promise<unknown> {
    const handler = this.calls.calls[method];
    if (handler === 'unimplemented') throw new Unimplemented(method);
    const { signal, end } = deadlineOf(call);
    try {
      const opened = await this.access.open(certificateOf(call));
      this.access.admit(opened, CHANGES.has(method) ? 'change' : 'read');
      const asked = { opened, request: call.request, signal } as Call<never>;
      return await Promise.race([handler(asked), rejected(signal)]);
    } finally {
      end();
    }
  }
}

/** Methods that change the size of a pool. */
const CHANGES: ReadonlySet<Method> = new Set([
  'NodeGroupIncreaseSize',
  'NodeGroupDecreaseTargetSize',
  'NodeGroupDeleteNodes',
]);

const serializerOf = (name: MessageName) => ({
  serialize: (value: unknown): Buffer => encodeMessage(name, value as never),
  deserialize: (bytes: Buffer): unknown => decodeMessage(name, bytes),
});

const definition: grpc.ServiceDefinition = Object.fromEntries(
  Object.entries(METHODS).map(([method, [request, response]]) => {
    const [asked, answered] = [serializerOf(request), serializerOf(response)];
    return [
      method,
      {
        path: `/${SERVICE}/${method}`,
        requestStream: false,
        responseStream: false,
        requestSerialize: asked.serialize,
        requestDeserialize: asked.deserialize,
        responseSerialize: answered.serialize,
        responseDeserialize: answered.deserialize,
      },
    ];
  }),
);

const certificateOf = (call: grpc.ServerUnaryCall<unknown, unknown>): Uint8Array => {
  const { sslPeerCertificate } = call.getAuthContext();
  if (sslPeerCertificate === undefined) throw new Error('the connection has no client certificate');
  return sslPeerCertificate.raw;
};

/** Aborts when the client has gone, or when the time that it gives the call is over. */
const deadlineOf = (
  call: grpc.ServerUnaryCall<unknown, unknown>,
): { readonly signal: AbortSignal; readonly end: () => void } => {
  const over = new AbortController();
  const abort = (): void => over.abort();
  // Without one it is `Infinity`, which no `Date` can hold.
  const leftMs = Number(call.getDeadline()) - Date.now();
  const timer = setTimeout(abort, Math.max(0, Math.min(leftMs, CALL_MAX_MS)));
  call.once('cancelled', abort);
  if (call.cancelled) abort();
  return { signal: over.signal, end: () => clearTimeout(timer) };
};

const rejected = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const end = (): void => reject(signal.reason as DOMException);
    if (signal.aborted) return end();
    signal.addEventListener('abort', end, { once: true });
  });
