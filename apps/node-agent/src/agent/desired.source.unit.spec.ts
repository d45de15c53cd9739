import type { AgentConfig } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { at, node, uid } from './agent.fixtures.js';
import type { Desired } from './agent.state.js';
import { DesiredSource } from './desired.source.js';

const config = {
  namespace: 'default',
  cluster: 'demo',
  uid,
  node,
  desired: { revision: 1, software: at('1.34.4'), changesAllowed: true },
} as AgentConfig;

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** As upgrade-svc states it. */
const stated = (revision: number, data: object = {}): Uint8Array =>
  bytesOf(
    JSON.stringify({
      specversion: '1.0',
      id: `event-${revision}`,
      source: '/upgrade-svc',
      type: 'DesiredVersionsSet.v1',
      subject: `default/demo/desired-${node}`,
      time: '2026-01-01T00:00:00.000Z',
      datacontenttype: 'application/json',
      dataschema: 'urn:fairlead:event:DesiredVersionsSet:v1',
      correlationid: 'event-0',
      causationid: 'event-0',
      actor: 'system/upgrade-svc',
      streamversion: revision,
      prevhash: '0'.repeat(64),
      data: { uid, node, revision, software: at('1.34.5'), changesAllowed: false, ...data },
    }),
  );

const sourceWith = async (keep: () => Promise<void> = () => Promise.resolve()) => {
  let kept: Desired | null = null;
  let hear: (bytes: Uint8Array) => void = () => undefined;
  const fresh: number[] = [];
  const said: string[] = [];
  const source = new DesiredSource({
    config,
    events: {
      subscribe: (_subject, callback) => {
        hear = callback;
      },
      onConnected: () => undefined,
      isConnected: () => false,
      last: () => Promise.resolve(undefined),
    },
    journal: {
      get desired() {
        return kept;
      },
      setDesired: (desired) => {
        kept = desired;
        return keep();
      },
    },
    log: (level, message) => said.push(`${level} ${message}`),
    onNew: ({ revision }) => fresh.push(revision),
  });
  await source.start();
  const heard = async (bytes: Uint8Array): Promise<void> => {
    hear(bytes);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { source, heard, fresh, said };
};

describe('what a node shall be', () => {
  it('is what the configuration began with, until the log says more', async () => {
    const { source, heard, fresh } = await sourceWith();
    expect(source.current).toMatchObject({ revision: 1, because: null });
    await heard(stated(2));
    expect(source.current).toMatchObject({ revision: 2, changesAllowed: false, because: { causationId: 'event-2' } });
    expect(fresh).toEqual([2]);
  });

  it('never goes back, and is taken once', async () => {
    const { source, heard, fresh } = await sourceWith();
    for (const revision of [3, 2, 3]) await heard(stated(revision));
    expect(source.current.revision).toBe(3);
    expect(fresh).toEqual([3]);
  });

  it('is not what another node, or another incarnation of the cluster, was told', async () => {
    const { source, heard } = await sourceWith();
    await heard(stated(2, { node: 'demo-w-2-bbbbb' }));
    await heard(stated(2, { uid: '22222222-2222-4222-8222-222222222222' }));
    expect(source.current.revision).toBe(1);
  });

  it.each(['{', '[]', '{"data": 1}'])('stays as it is when %s is said', async (text) => {
    const { source, heard, said } = await sourceWith();
    await heard(bytesOf(text));
    expect(source.current.revision).toBe(1);
    expect(said).toEqual(['error a desired state that cannot be read is ignored']);
  });

  it('counts, although the disk is too full to keep it', async () => {
    const { source, heard, said } = await sourceWith(() =>
      Promise.reject(new Error('ENOSPC: no space left on device')),
    );
    await heard(stated(2));
    expect(source.current.revision).toBe(2);
    expect(said).toEqual(['warn the desired state could not be kept']);
  });
});
