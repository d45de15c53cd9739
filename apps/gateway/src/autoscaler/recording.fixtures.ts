import type { TestGateway } from '../gateway.fixtures.js';
import { about, added, provisioned, type AutoscalerClient } from './autoscaler.fixtures.js';
import type { Method } from './externalgrpc.messages.js';

/** One call as it went over the wire; bytes are base64. */
export interface RecordedCall {
  readonly method: Method;
  readonly request: string;
  /** Of gRPC; 0: OK. */
  readonly status: number;
  /** The words of a status that is not OK. */
  readonly details?: string;
  readonly response?: string;
}

/** What the client was asked through its interface, what it sent for that, and what it made of the answers; or what happened in the cluster meanwhile. */
export type RecordedStep =
  | { readonly command: string; readonly calls: readonly RecordedCall[]; readonly result: unknown }
  | {
      readonly nodes: { readonly pool: string; readonly names: readonly string[]; readonly until: 'planned' | 'ready' };
    };

export interface Recording {
  readonly client: string;
  readonly made: string;
  readonly steps: readonly RecordedStep[];
}

export const CLUSTER = 'demo';

/** The cluster that a recording begins with. */
export const beginning = async (gateway: TestGateway): Promise<string> => {
  const uid = await provisioned(gateway, CLUSTER);
  const specs = ['lab.small', 'lab.medium'].map((name, at) => ({
    name,
    cpuCount: 2 ** (at + 1),
    memoryGiB: 4 * (at + 1),
    cpuClockGHz: null,
  }));
  const offer = {
    provider: 'lab',
    region: 'lab-1',
    zones: ['lab-1a'],
    specs,
    capabilities: { nlb: true, simulated: true },
  };
  await gateway.state({ type: 'ConnectionVerified', data: { connection: 'lab', offer } } as never, {
    namespace: '_',
    cluster: '_',
  });
  return uid;
};

/** The other services bring the nodes of the latest request so far. */
export const happen = async (
  gateway: TestGateway,
  uid: string,
  { pool, names, until }: Extract<RecordedStep, { nodes: unknown }>['nodes'],
): Promise<void> => {
  const log = await gateway.log(`evt.*.default.${CLUSTER}.request.NodesRequested`);
  const request = log.at(-1);
  if (request?.type !== 'NodesRequested') throw new Error('no nodes were requested');
  for (const fact of added(uid as never, request.data.requestId, { pool, names, until }))
    await gateway.state(about(uid, CLUSTER, fact));
};

/** Rows follow the log after a moment, and a recording has no pauses. */
export const settled = async (gateway: TestGateway): Promise<void> => {
  const seq = (await gateway.log('evt.>')).at(-1)?.meta.seq ?? 0;
  await gateway.ask('GET', `/ns/default/clusters/${CLUSTER}?minSeq=${seq}`);
};

export const sent = async (
  client: AutoscalerClient,
  { method, request }: RecordedCall,
): Promise<Omit<RecordedCall, 'method' | 'request'>> => {
  try {
    return { status: 0, response: (await client.send(method, Buffer.from(request, 'base64'))).toString('base64') };
  } catch (error) {
    const { code, details } = error as { code: number; details: string };
    return { status: code, details };
  }
};
