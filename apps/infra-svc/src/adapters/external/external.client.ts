import * as grpc from '@grpc/grpc-js';
import { PROVIDER_REFUSED, ExternalFailure } from '@fairlead/contracts';
import protobuf from 'protobufjs';
import type { z } from 'zod';
import type { ProviderOperation } from '../../providers/provider.ports.js';
import { PROVIDER_PROTO } from './provider.v1.proto.js';

const SERVICE = 'fairlead.provider.v1.Provider';
const MIB = 1_048_576;
const OPTIONS: grpc.ClientOptions = {
  'grpc.max_receive_message_length': 4 * MIB,
  'grpc.max_send_message_length': 4 * MIB,
  'grpc.max_reconnect_backoff_ms': 5_000,
};
const WORDS_MAX = 1_000;
/** Lists with more entries are rejected. */
const STREAMED_MAX = 100_000;

/** Temporary failures: the provider is unreachable, or asks to retry. */
const RETRYABLE: ReadonlySet<grpc.status> = new Set([
  grpc.status.UNAVAILABLE,
  grpc.status.ABORTED,
  grpc.status.DEADLINE_EXCEEDED,
  grpc.status.INTERNAL,
  grpc.status.UNKNOWN,
]);

const { root } = protobuf.parse(PROVIDER_PROTO);
const service = root.lookupService(SERVICE);

export type Method =
  | 'Verify'
  | 'ListSpecs'
  | 'ResolveRegion'
  | 'ResolveImage'
  | 'EnsureNetwork'
  | 'EnsureFirewall'
  | 'EnsureSshKey'
  | 'DeleteSshKey'
  | 'EnsureMachines'
  | 'DescribeMachines'
  | 'ListMachines'
  | 'DeleteMachine'
  | 'DeleteGroup'
  | 'EnsureLoadBalancer'
  | 'DeleteLoadBalancer';

/** The connection, which is part of every request. */
export interface Sent {
  readonly name: string;
  readonly region: string;
  readonly zone: string;
  readonly options: string;
  readonly secret: string;
}

export interface ExternalCall {
  readonly operation: ProviderOperation;
  readonly method: Method;
  readonly request?: object;
  readonly signal: AbortSignal;
}

export interface ExternalLimits {
  /** Timeout of a call, except the creation of machines. */
  readonly timeoutMs: number;
}

export const typesOf = (method: Method) => {
  const { requestType, responseType } = service.methods[method]!;
  const [asked, answered] = [
    root.lookupType(`fairlead.provider.v1.${requestType}`),
    root.lookupType(`fairlead.provider.v1.${responseType}`),
  ];
  return {
    serialize: (message: object): Buffer => Buffer.from(asked.encode(asked.fromObject(message)).finish()),
    deserialize: (bytes: Buffer): unknown =>
      answered.toObject(answered.decode(bytes), { defaults: true, arrays: true, objects: true }),
  };
};

/** TLS with a certificate that Node.js trusts; without TLS only for sockets and addresses of this machine. */
const credentialsFor = (address: string): grpc.ChannelCredentials =>
  /^(?:unix:|127\.0\.0\.1:|\[::1\]:|localhost:)/.test(address)
    ? grpc.credentials.createInsecure()
    : grpc.credentials.createSsl();

/**
 * A gRPC client for an external provider. Every failure is a ExternalFailure; an aborted call rejects with the reason of
 * its signal.
 */
export class ExternalClient {
  private readonly client: grpc.Client;

  constructor(
    private readonly address: string,
    private readonly limits: ExternalLimits,
  ) {
    this.client = new grpc.Client(address, credentialsFor(address), OPTIONS);
  }

  close(): void {
    this.client.close();
  }

  async ask<Answer>(connection: Sent, call: ExternalCall, answer: z.ZodType<Answer>): Promise<Answer> {
    const { method, request, signal } = call;
    signal.throwIfAborted();
    const { serialize, deserialize } = typesOf(method);
    const deadline = Date.now() + this.limits.timeoutMs;
    return new Promise((resolve, reject) => {
      const fail = (error: unknown): void =>
        reject(signal.aborted ? (signal.reason as Error) : this.failed(connection, call, error));
      const path = `/${SERVICE}/${method}`;
      const sent = { ...request, connection };
      const running = this.client.makeUnaryRequest(
        path,
        serialize,
        deserialize,
        sent,
        new grpc.Metadata(),
        { deadline },
        (error, value) => {
          signal.removeEventListener('abort', cancel);
          if (error !== null) return fail(error);
          const parsed = answer.safeParse(value);
          if (parsed.success) resolve(parsed.data);
          else reject(this.unexpected(connection, call, parsed.error));
        },
      );
      const cancel = (): void => running.cancel();
      signal.addEventListener('abort', cancel, { once: true });
    });
  }

  /** Yields until the provider ends the stream. */
  async *stream<Answer>(
    connection: Sent,
    call: ExternalCall,
    answer: z.ZodType<Answer>,
    isTimed = true,
  ): AsyncIterable<Answer> {
    const { method, request, signal } = call;
    signal.throwIfAborted();
    const { serialize, deserialize } = typesOf(method);
    const options = isTimed ? { deadline: Date.now() + this.limits.timeoutMs } : {};
    const sent = { ...request, connection };
    const running = this.client.makeServerStreamRequest(
      `/${SERVICE}/${method}`,
      serialize,
      deserialize,
      sent,
      new grpc.Metadata(),
      options,
    );
    const cancel = (): void => running.cancel();
    signal.addEventListener('abort', cancel, { once: true });
    try {
      let count = 0;
      for await (const value of running as AsyncIterable<unknown>) {
        count += 1;
        if (count > STREAMED_MAX)
          throw this.failure(connection, call, `it sends more than ${STREAMED_MAX} machines`, false);
        const parsed = answer.safeParse(value);
        if (!parsed.success) throw this.unexpected(connection, call, parsed.error);
        yield parsed.data;
      }
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof ExternalFailure ? error : this.failed(connection, call, error);
    } finally {
      signal.removeEventListener('abort', cancel);
      running.cancel();
    }
  }

  private failed(connection: Sent, call: ExternalCall, error: unknown): ExternalFailure {
    const { code = grpc.status.UNKNOWN, details = String(error) } = error as Partial<grpc.ServiceError>;
    const by = `${call.method} at ${this.address}: ${grpc.status[code]}`;
    if (code === grpc.status.UNIMPLEMENTED)
      return this.failure(connection, call, `it does not implement ${SERVICE} (${by})`, false);
    return this.failure(connection, call, `${details.slice(0, WORDS_MAX)} (${by})`, RETRYABLE.has(code));
  }

  private unexpected(connection: Sent, call: ExternalCall, { issues: [issue] }: z.ZodError): ExternalFailure {
    const where = issue === undefined ? '' : `: ${issue.path.join('.')} ${issue.message}`;
    return this.failure(
      connection,
      call,
      `${call.method} answers with something else than the protocol has${where}`,
      false,
    );
  }

  private failure(
    { name, secret }: Sent,
    { operation }: ExternalCall,
    message: string,
    retryable: boolean,
  ): ExternalFailure {
    const said = secret === '' ? message : message.replaceAll(secret, '***');
    const reason = retryable ? undefined : PROVIDER_REFUSED;
    return new ExternalFailure({ operation, target: name, message: said, retryable, reason });
  }
}
