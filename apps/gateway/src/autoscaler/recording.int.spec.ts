import { afterAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { useGateway } from '../gateway.fixtures.js';
import { connect, SERVED, type AutoscalerClient } from './autoscaler.fixtures.js';
import { beginning, CLUSTER, happen, sent, settled, type Recording } from './recording.fixtures.js';

const file = new URL('recorded/cluster-autoscaler.json', import.meta.url);
const { client: recorded, steps } = JSON.parse(readFileSync(file, 'utf8')) as Recording;

let uid = '';
let client: AutoscalerClient;
const gateway = useGateway(
  async () => {
    uid = await beginning(gateway);
    client = await connect(gateway, CLUSTER);
  },
  { variables: SERVED },
);
afterAll(() => client.close());

describe(`what the client of ${recorded} sent`, () => {
  it('is answered byte by byte as it was recorded, and as the client understood it', async () => {
    for (const step of steps) {
      if ('nodes' in step) {
        await happen(gateway, uid, step.nodes);
        continue;
      }
      await settled(gateway);
      for (const call of step.calls) {
        const { method: _method, request: _request, ...expected } = call;
        expect({ command: step.command, ...(await sent(client, call)) }).toEqual({
          command: step.command,
          ...expected,
        });
      }
    }
  });

  it('covers every method of the protocol', () => {
    const methods = new Set(steps.flatMap((step) => ('calls' in step ? step.calls.map(({ method }) => method) : [])));
    expect(methods.size).toBe(15);
  });

  it('does no harm when all of it comes once more', async () => {
    const requests = async () =>
      (await gateway.log(`evt.*.default.${CLUSTER}.request.>`)).filter(({ type }) => type !== 'ClusterSpecChanged');
    const before = await requests();
    for (const step of steps) {
      if ('nodes' in step) continue;
      for (const call of step.calls) if (!call.method.endsWith('creaseSize')) await sent(client, call);
    }
    expect(await requests()).toEqual(before);
  });
});
