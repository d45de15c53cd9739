import type { AgentConfig, AgentDesiredMessage } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import { at, node, uid } from './agent.fixtures.js';
import type { Desired } from '../node/desired.state.js';
import { DesiredSource } from './desired.source.js';

const config = {
  namespace: 'default',
  cluster: 'demo',
  uid,
  node,
  desired: { revision: 1, software: at('1.34.4'), changesAllowed: true },
} as AgentConfig;

/** A desired state as upgrade-svc sends it. */
const sent = (revision: number, data: object = {}): AgentDesiredMessage => ({
  id: `event-${revision}`,
  correlationId: 'event-0',
  data: { uid, node, revision, software: at('1.34.5'), changesAllowed: false, ...data },
});

const sourceWith = async (keep: () => Promise<void> = () => Promise.resolve()) => {
  let kept: Desired | null = null;
  let send: (desired: AgentDesiredMessage) => void = () => undefined;
  const fresh: number[] = [];
  const said: string[] = [];
  const source = new DesiredSource({
    config,
    platform: {
      onDesired: (callback) => {
        send = callback;
      },
      onConnected: () => undefined,
      isConnected: () => false,
      isSynced: () => false,
      sync: () => Promise.reject(new Error('not connected')),
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
  const received = async (desired: AgentDesiredMessage): Promise<void> => {
    send(desired);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { source, received, fresh, said };
};

describe('the desired state of a node', () => {
  it('is that of the configuration until another one is decided', async () => {
    const { source, received, fresh } = await sourceWith();
    expect(source.current).toMatchObject({ revision: 1, event: null });
    await received(sent(2));
    expect(source.current).toMatchObject({ revision: 2, changesAllowed: false, event: 'event-2' });
    expect(fresh).toEqual([2]);
  });

  it('never goes back to an older revision, and is applied once', async () => {
    const { source, received, fresh } = await sourceWith();
    for (const revision of [3, 2, 3]) await received(sent(revision));
    expect(source.current.revision).toBe(3);
    expect(fresh).toEqual([3]);
  });

  it('is not taken from messages for another node or another incarnation of the cluster', async () => {
    const { source, received } = await sourceWith();
    await received(sent(2, { node: 'demo-w-2-bbbbb' as typeof node }));
    await received(sent(2, { uid: '22222222-2222-4222-8222-222222222222' as typeof uid }));
    expect(source.current.revision).toBe(1);
  });

  it('applies even if the disk is too full to store it', async () => {
    const { source, received, said } = await sourceWith(() =>
      Promise.reject(new Error('ENOSPC: no space left on device')),
    );
    await received(sent(2));
    expect(source.current.revision).toBe(2);
    expect(said).toEqual(['warn the desired state could not be kept']);
  });
});
