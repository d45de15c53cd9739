import * as grpc from '@grpc/grpc-js';
import {
  NodeName,
  type ClusterUid,
  type ClusterView,
  type Fact,
  type SignedAutoscalerCredentialView,
} from '@fairlead/contracts';
import { newClientRequest } from '@fairlead/embedded/credentials';
import { request, type AskOptions, type TestGateway } from '../gateway.fixtures.js';
import { CREATE, machine, nodeFact, plan, uid as storyUid } from '../story.fixtures.js';
import { decodeMessage, encodeMessage, METHODS, SERVICE, type Messages, type Method } from './externalgrpc.messages.js';

/** The gateway serves autoscalers at a free port. */
export const SERVED = { AUTOSCALER_ADDRESS: '127.0.0.1:0', AUTOSCALER_LISTEN: '127.0.0.1:0' };

export interface CallOptions {
  readonly deadlineMs?: number;
}

/** A client of the protocol, with a certificate. */
export interface AutoscalerClient {
  readonly credential: SignedAutoscalerCredentialView;
  readonly key: string;
  call<M extends Method>(
    method: M,
    message: Messages[(typeof METHODS)[M][0]],
    options?: CallOptions,
  ): Promise<Messages[(typeof METHODS)[M][1]]>;
  /** As a recorded client sent it; answers the bytes of the answer. */
  send(method: Method, bytes: Uint8Array, options?: CallOptions): Promise<Buffer>;
  close(): void;
}

export const credentialFor = async (
  gateway: TestGateway,
  cluster: string,
  replica: Pick<AskOptions, 'replica'> = {},
): Promise<Pick<AutoscalerClient, 'credential' | 'key'>> => {
  const { key, csr } = await newClientRequest('anything');
  const path = `/ns/default/clusters/${cluster}/autoscaler/credentials`;
  const { status, body } = await gateway.ask<SignedAutoscalerCredentialView>('POST', path, {
    body: { csr },
    ...replica,
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return { credential: body, key };
};

/** With other options of TLS than those of the credential: as a client that is not ours. */
export const clientOf = (
  { credential, key }: Pick<AutoscalerClient, 'credential' | 'key'>,
  tls: grpc.ChannelCredentials = grpc.credentials.createSsl(
    Buffer.from(credential.caCertificate),
    Buffer.from(key),
    Buffer.from(credential.certificate),
  ),
): AutoscalerClient => {
  const client = new grpc.Client(credential.address, tls);
  const same = (bytes: Buffer): Buffer => bytes;
  const send: AutoscalerClient['send'] = (method, bytes, { deadlineMs = 20_000 } = {}) =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        `/${SERVICE}/${method}`,
        same,
        same,
        Buffer.from(bytes),
        { deadline: Date.now() + deadlineMs },
        (error, answer) => (error === null ? resolve(answer ?? Buffer.alloc(0)) : reject(error)),
      );
    });
  return {
    credential,
    key,
    send,
    call: async (method, message, options) => {
      const [asked, answered] = METHODS[method];
      return decodeMessage(answered, await send(method, encodeMessage(asked, message), options)) as never;
    },
    close: () => client.close(),
  };
};

export const connect = async (gateway: TestGateway, cluster: string): Promise<AutoscalerClient> =>
  clientOf(await credentialFor(gateway, cluster));

/** What the other services state, for the uid of a cluster. */
export const about = (uid: string, cluster: string, fact: Fact): Fact =>
  JSON.parse(JSON.stringify(fact).replaceAll(storyUid, uid).replaceAll('"demo-', `"${cluster}-`)) as Fact;

/** A cluster of 3 + 2 that is Provisioned, whose pool worker-1 has bounds, and a pool batch that may be empty. */
export const provisioned = async (gateway: TestGateway, cluster: string): Promise<ClusterUid> => {
  const { body } = await gateway.ask<ClusterView>('POST', '/ns/default/clusters', { body: request(cluster) });
  for (const fact of CREATE.slice(1)) await gateway.state(about(body.uid, cluster, fact), { cluster });
  const machines = { connection: 'lab', machineType: 'lab.small' };
  const pools = [
    { name: 'worker-1', ...machines, autoscaling: { min: 1, max: 4 } },
    {
      name: 'batch',
      ...machines,
      machineType: 'lab.medium',
      autoscaling: { min: 0, max: 3 },
      labels: { tier: 'batch' },
      taints: [{ key: 'dedicated', value: 'batch', effect: 'NoSchedule' }],
    },
    { name: 'fixed', ...machines, replicas: 0 },
  ];
  const { status, body: answer } = await gateway.ask('PATCH', `/ns/default/clusters/${cluster}/manifest`, {
    body: { spec: { pools } },
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  if (status >= 300) throw new Error(JSON.stringify(answer));
  return body.uid as ClusterUid;
};

/** What infra-svc and bootstrap-svc state for nodes of a request: planned, and as far as `until`. */
export const added = (
  uid: ClusterUid,
  requestId: string,
  {
    pool,
    names,
    until,
  }: { readonly pool: string; readonly names: readonly string[]; readonly until: 'planned' | 'ready' },
): readonly Fact[] => {
  const machines = names.map((name) => ({ ...plan(name), pool }));
  const planned: Fact = { type: 'VmsPlanned', data: { uid, requestId, machines } };
  if (until === 'planned') return [planned];
  return [
    planned,
    ...names.map((name): Fact => ({ type: 'VmCreated', data: { uid, machine: { ...machine(name), pool } } })),
    { type: 'VmsCreated', data: { uid, machines: names.map((name) => ({ ...machine(name), pool })) } },
    ...names.map((name) => ({ ...nodeFact('WorkerJoined', name), data: { uid, node: name } }) as Fact),
    ...names.map((name): Fact => ({
      type: 'NodeReady',
      data: { uid, node: NodeName.parse(name), revision: 1, software: { kubelet: '1.34.4' } },
    })),
    { type: 'ClusterReady', data: { uid } },
  ];
};
