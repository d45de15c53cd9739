import { refuse, ExternalFailure, type RefusalCode } from '@fairlead/contracts';
import type { Handle } from '@fairlead/event-sourcing/jetstream';
import { describe, expect, it } from '@jest/globals';
import { uid } from '../nodes/nodes.fixtures.js';
import { sayToNode } from './decisions.js';

const task = { namespace: 'default', cluster: 'demo', cause: {} } as Parameters<typeof sayToNode>[1];
const node = 'demo-w-1' as Parameters<typeof sayToNode>[2];

const refusedWith = async (code: RefusalCode): Promise<unknown> => {
  const handle: Handle = async () => refuse(code);
  return sayToNode(handle, task, node, { type: 'WithdrawPermission', data: { uid, node } }).catch(
    (error: unknown) => error,
  );
};

describe('a decision that a task makes', () => {
  it('is retried after a concurrent write, and ends the task if it is refused', async () => {
    const quicker = await refusedWith('conflict.concurrent');
    expect(quicker).toBeInstanceOf(ExternalFailure);
    expect(quicker).toMatchObject({
      operation: 'WithdrawPermission',
      target: 'default/demo desired-demo-w-1',
      retryable: true,
    });
    expect(await refusedWith('upgrade.minor-downgrade')).toMatchObject({ retryable: false });
  });
});
