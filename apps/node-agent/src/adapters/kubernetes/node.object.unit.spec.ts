import { describe, expect, it } from '@jest/globals';
import { NodeObject, patchOf, viewOf } from './node.object.js';

const nodeOf = (over: object): NodeObject =>
  NodeObject.parse({
    kind: 'Node',
    metadata: { name: 'w1', resourceVersion: '1', labels: { 'kubernetes.io/os': 'linux' } },
    ...over,
  });

describe('a Node object', () => {
  it('is not Ready before it has conditions', () =>
    expect(viewOf(nodeOf({}))).toEqual({ ready: false, message: 'no Ready condition yet', kubeletVersion: '' }));
  it.each([
    ['True', true],
    ['False', false],
    ['Unknown', false],
  ])('with Ready=%s is ready: %s [ORBITER 32]', (status, ready) =>
    expect(
      viewOf(
        nodeOf({
          status: {
            conditions: [
              { type: 'MemoryPressure', status: 'False' },
              { type: 'Ready', status, reason: 'KubeletReady', message: 'words' },
            ],
            nodeInfo: { kubeletVersion: 'v1.34.4', osImage: 'x' },
          },
        }),
      ),
    ).toEqual({ ready, message: 'KubeletReady: words', kubeletVersion: 'v1.34.4' }),
  );
});

describe('the patch of a Node object', () => {
  const desired = { labels: { pool: 'w' }, annotations: { ready: 'true', revision: '2' } };
  it('contains only the differences', () =>
    expect(
      patchOf(
        nodeOf({
          metadata: {
            name: 'w1',
            resourceVersion: '1',
            labels: { pool: 'w' },
            annotations: { ready: 'true', revision: '1' },
          },
        }),
        desired,
      ),
    ).toEqual({
      metadata: { labels: {}, annotations: { revision: '2' } },
    }));
  it('is undefined if there are none', () =>
    expect(patchOf(nodeOf({ metadata: { name: 'w1', resourceVersion: '1', ...desired } }), desired)).toBeUndefined());
});
