import { isRefusal, type ConnectionName } from '@fairlead/contracts';
import * as grpc from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import type { Connection, InfrastructureProvider } from '../../providers/provider.ports.js';
import { describeProvider } from '../provider.features.js';
import { externalKind } from './external.kind.js';
import { PROVIDER_PROTO } from './provider.v1.proto.js';

const EXAMPLE = new URL('../../../../../docs/examples/provider/provider.mjs', import.meta.url);
const PROTO = new URL('../../../../../docs/provider.v1.proto', import.meta.url);

interface Served {
  readonly address: string;
  stop(): void;
}
const serveExample = async (): Promise<Served> => {
  const { serve } = (await import(EXAMPLE.href)) as { serve(at: string): Promise<Served> };
  return serve('127.0.0.1:0');
};

const open = (address: string, { secret = '', timeoutMs = 5_000 } = {}): InfrastructureProvider => {
  const settings = { address, options: {} };
  const connection: Connection = {
    ...{ name: 'site' as ConnectionName, provider: 'external', region: 'example-1', zone: '', settings },
    ...{ secretRef: null, registration: 'event-1' },
  };
  const provider = externalKind({ timeoutMs }).open(connection, secret);
  if (isRefusal(provider)) throw new Error(provider.message);
  return provider;
};

describeProvider('of the example, which is a process of its own', async () => {
  const served = await serveExample();
  return {
    open: () => open(served.address),
    connection: 'site',
    region: 'example-1',
    spec: 'example.medium',
    otherImage: 'example-2',
    publicKey: 'ssh-ed25519 AAAA spec',
    stop: async () => served.stop(),
  };
});

describe('an external provider', () => {
  const signal = (): AbortSignal => AbortSignal.timeout(20_000);
  let server: grpc.Server;
  let address = '';
  let answer: grpc.handleUnaryCall<Buffer, Buffer> = (_call, done) => done({ code: grpc.status.INTERNAL });
  const raw = {
    requestStream: false,
    responseStream: false,
    requestSerialize: (b: Buffer) => b,
    requestDeserialize: (b: Buffer) => b,
    responseSerialize: (b: Buffer) => b,
    responseDeserialize: (b: Buffer) => b,
  };

  beforeAll(async () => {
    server = new grpc.Server();
    const path = '/fairlead.provider.v1.Provider/Verify';
    server.addService({ Verify: { path, ...raw } }, { Verify: ((call, done) => answer(call, done)) as typeof answer });
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      ),
    );
    address = `127.0.0.1:${port}`;
  });
  afterAll(() => server.forceShutdown());

  it('uses the documented protocol', () => expect(PROVIDER_PROTO).toBe(readFileSync(PROTO, 'utf8')));

  it.each([
    [grpc.status.UNAVAILABLE, true],
    [grpc.status.INTERNAL, true],
    [grpc.status.RESOURCE_EXHAUSTED, false],
    [grpc.status.FAILED_PRECONDITION, false],
    [grpc.status.UNAUTHENTICATED, false],
  ])('fails with code %d and its own message; retryable: %s', async (code, retryable) => {
    answer = (_call, done) => done({ code, details: 'the cloud says no' });
    await expect(open(address).verify(signal())).rejects.toMatchObject({
      ...{ operation: 'verify connection', target: 'site', retryable },
      message: `the cloud says no (Verify at ${address}: ${grpc.status[code]})`,
    });
  });

  it("that repeats its connection's secret in a failure has it masked", async () => {
    answer = (_call, done) => done({ code: grpc.status.UNAUTHENTICATED, details: 'bad secret: hunter2' });
    await expect(open(address, { secret: 'hunter2' }).verify(signal())).rejects.toMatchObject({
      message: expect.stringMatching(/^bad secret: \*\*\* /),
    });
  });

  it('that hangs lets the call time out', async () => {
    answer = () => undefined;
    await expect(open(address, { timeoutMs: 200 }).verify(signal())).rejects.toMatchObject({
      message: expect.stringContaining('DEADLINE_EXCEEDED'),
      retryable: true,
    });
  });

  it('that responds with invalid protobuf fails', async () => {
    answer = (_call, done) => done(null, Buffer.from('this is no message'));
    await expect(open(address).verify(signal())).rejects.toMatchObject({ name: 'ExternalFailure' });
  });

  it('without a method implements another protocol, and is not retried', async () => {
    await expect(open(address).listSpecs(signal())).rejects.toMatchObject({
      message: expect.stringMatching(/^it does not implement fairlead\.provider\.v1\.Provider /),
      retryable: false,
    });
  });

  it('that is not running is retried', async () => {
    const free: Server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => free.once('listening', resolve));
    const { port } = free.address() as AddressInfo;
    await new Promise((resolve) => free.close(resolve));
    await expect(open(`127.0.0.1:${port}`).verify(signal())).rejects.toMatchObject({ retryable: true });
  });
});
