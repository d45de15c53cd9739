import { ClusterRequest, refuse } from '@fairlead/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { goodRequest } from '../clusters/clusters.fixtures.js';
import { inItsWords, ladybugRouteOf, withoutEmpty, withoutUnknown } from './ladybug.rules.js';

describe('a body below the base of CB-Ladybug', () => {
  it('loses empty text and null, at any depth, and nothing else', () => {
    expect(withoutEmpty({ a: '', b: null, c: 0, d: false, e: [{ f: '', g: 'x' }, 1], h: { i: '' } })).toEqual({
      c: 0,
      d: false,
      e: [{ g: 'x' }, 1],
      h: {},
    });
  });

  it('is never the end of the gateway, whatever it holds', () => {
    const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) as unknown;
    expect(() => withoutEmpty(deep)).not.toThrow();
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        expect(() => withoutUnknown(withoutEmpty(value), ClusterRequest)).not.toThrow();
      }),
    );
  });

  it('loses what its schema does not know, and keeps what is wrong with the rest', () => {
    const given = {
      ...goodRequest,
      colour: 'red',
      config: { kubernetes: { podCIDR: 'x', podCidr: 7 } },
      worker: [{ connection: 'lab', count: 1, spec: 's', size: 1 }],
    };
    expect(withoutUnknown(given, ClusterRequest)).toEqual({
      ...goodRequest,
      config: { kubernetes: { podCidr: 7 } },
      worker: [{ connection: 'lab', count: 1, spec: 's' }],
    });
  });

  it.each([
    ['POST', 'ns/a/clusters', ['body']],
    ['POST', 'ns/a/clusters/b/nodes', ['body']],
    ['GET', 'ns/a/clusters', ['query']],
    ['GET', 'ns/a/clusters/b', ['query']],
    ['GET', 'ns/a/clusters/b/nodes/c', ['query']],
    ['GET', 'mcir/connections/x/specs', ['query']],
    ['POST', 'ns/a/clusters/b/upgrades', []],
    ['PUT', 'connections/x', []],
  ])('of %s %s is read leniently in %j', (method, path, parts) => {
    expect(Object.keys(ladybugRouteOf(method, path))).toEqual(parts);
  });
});

describe('a refusal below the base of CB-Ladybug', () => {
  const place = { namespace: 'default', cluster: 'demo', ofNodes: false };
  const other = refuse('cluster.single-connection', { connection: 'moon' }, 'worker[0].connection');

  it.each([
    [false, 'All nodes must be the same connection config. (connection=moon)'],
    [true, 'The new node must be the same connection config. (connection=moon)'],
  ])('has its text for a second connection, of new nodes (%s) as of a cluster [CB-Ladybug 3]', (ofNodes, message) =>
    expect(inItsWords(other, { ...place, ofNodes })).toEqual({ ...other, message }),
  );

  it('is the same where it has no text of its own', () => {
    const refusal = refuse('cluster.worker-missing', {}, 'worker');
    expect(inItsWords(refusal, place)).toEqual(refusal);
  });
});
