import { describe, expect, it } from '@jest/globals';
import type { ManagedFieldsEntry } from '../objects/kube.object.js';
import type { JsonObject } from '../objects/json.js';
import { applyConfiguration, type ApplyResult } from './apply.patch.js';
import { applyJsonPatch, PatchRefused } from './json.patch.js';
import { applyMergePatch } from './merge.patch.js';

describe('A JSON patch', () => {
  it('adds, removes, replaces, moves and copies by pointer', () => {
    const document = { a: { 'x/y': 1 }, list: [1, 2, 3] };

    expect(
      applyJsonPatch(document, [
        { op: 'test', path: '/a/x~1y', value: 1 },
        { op: 'replace', path: '/a/x~1y', value: 2 },
        { op: 'add', path: '/list/1', value: 9 },
        { op: 'add', path: '/list/-', value: 4 },
        { op: 'remove', path: '/list/0' },
        { op: 'copy', from: '/list', path: '/copy' },
        { op: 'move', from: '/a', path: '/b' },
      ]),
    ).toEqual({ list: [9, 2, 3, 4], copy: [9, 2, 3, 4], b: { 'x/y': 2 } });
  });

  it('does not modify the given document', () => {
    const document = { a: { b: 1 }, list: [1] };

    applyJsonPatch(document, [
      { op: 'replace', path: '/a/b', value: 2 },
      { op: 'add', path: '/list/-', value: 2 },
    ]);

    expect(document).toEqual({ a: { b: 1 }, list: [1] });
  });

  it.each([
    ['a failed test', [{ op: 'test', path: '/a', value: 2 }]],
    ['a missing path', [{ op: 'remove', path: '/nothing' }]],
    ['an index beyond the list', [{ op: 'add', path: '/list/7', value: 1 }]],
    ['an unknown operation', [{ op: 'rename', path: '/a' }]],
    ['something that is not a list', { op: 'add' }],
    ['an operation without a value', [{ op: 'add', path: '/b' }]],
    ['something that is not a pointer', [{ op: 'remove', path: 'a' }]],
    ['a source that is not a pointer', [{ op: 'copy', from: 'a', path: '/b' }]],
    ['a source that is missing', [{ op: 'move', from: '/nothing', path: '/a' }]],
    ['a move of the whole document', [{ op: 'move', from: '', path: '/b' }]],
    ['a move into the moved value', [{ op: 'move', from: '/list', path: '/list/b' }]],
    ['a path that every object inherits', [{ op: 'remove', path: '/constructor' }]],
    ["a change of an object's prototype", [{ op: 'add', path: '/__proto__/polluted', value: true }]],
    ['an index with a leading zero', [{ op: 'add', path: '/list/00', value: 1 }]],
    ['an empty index', [{ op: 'add', path: '/list/', value: 1 }]],
  ])('is refused for %s', (_, patch) => {
    expect(() => applyJsonPatch({ a: 1, list: [] }, patch)).toThrow(PatchRefused);
  });
});

describe('A merge patch', () => {
  it('removes members that are null, merges objects, replaces lists', () => {
    expect(applyMergePatch({ a: 1, b: { c: 1, d: 2 }, e: [1, 2] }, { a: null, b: { c: 3 }, e: [9] })).toEqual({
      b: { c: 3, d: 2 },
      e: [9],
    });
  });
});

describe('A server-side apply', () => {
  const deployment = (spec: object): JsonObject =>
    ({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' }, spec }) as JsonObject;
  const container = (members: object): object => ({
    template: { spec: { containers: [{ name: 'web', ...members }] } },
  });
  const request = { force: false, apiVersion: 'apps/v1', time: '2026-01-01T00:00:00Z' };

  const apply = (
    { object, entries }: { readonly object: JsonObject; readonly entries: readonly ManagedFieldsEntry[] },
    config: JsonObject,
    manager: string,
    force = false,
  ): ApplyResult => applyConfiguration(object, config, { ...request, manager, entries, force });

  const stored = (object: JsonObject): Parameters<typeof apply>[0] => ({ object, entries: [] });

  const applied = (result: ApplyResult): Extract<ApplyResult, { outcome: 'applied' }> => {
    if (result.outcome !== 'applied') throw new Error(`not applied: ${JSON.stringify(result)}`);
    return result;
  };

  it('removes fields that its manager applied before and no longer applies', () => {
    const first = applied(
      apply(stored(deployment({})), deployment({ replicas: 3, ...container({ image: 'a', tty: true }) }), 'addon'),
    );
    const second = applied(apply(first, deployment(container({ image: 'a' })), 'addon'));

    expect(second.object).toEqual(deployment(container({ image: 'a' })));
  });

  it('keeps fields that it never applied', () => {
    const current = deployment({ replicas: 5, ...container({ image: 'a', env: [{ name: 'X', value: '1' }] }) });

    expect(applied(apply(stored(current), deployment(container({ image: 'b' })), 'addon')).object).toEqual(
      deployment({ replicas: 5, ...container({ image: 'b', env: [{ name: 'X', value: '1' }] }) }),
    );
  });

  it('conflicts with another applier that has another value, and takes the field over if forced', () => {
    const first = applied(apply(stored(deployment({})), deployment({ replicas: 3 }), 'one'));
    const refused = apply(first, deployment({ replicas: 4 }), 'two');
    const forced = applied(apply(first, deployment({ replicas: 4 }), 'two', true));

    expect(refused).toEqual({ outcome: 'conflict', conflicts: [{ manager: 'one', field: '.spec.replicas' }] });
    expect(forced.object).toEqual(deployment({ replicas: 4 }));
    expect(forced.entries.find(({ manager }) => manager === 'one')?.fieldsV1).toEqual({});
  });

  it('shares a field with another applier that has the same value', () => {
    const first = applied(apply(stored(deployment({})), deployment({ replicas: 3 }), 'one'));
    const second = applied(apply(first, deployment({ replicas: 3 }), 'two'));
    const third = applied(apply(second, deployment({}), 'one'));

    expect(third.object).toEqual(deployment({ replicas: 3 }));
  });

  it('records the fields of its manager by list keys', () => {
    const { entries } = applied(apply(stored(deployment({})), deployment(container({ image: 'a' })), 'addon'));

    expect(entries).toEqual([
      {
        manager: 'addon',
        operation: 'Apply',
        apiVersion: 'apps/v1',
        time: '2026-01-01T00:00:00Z',
        fieldsType: 'FieldsV1',
        fieldsV1: {
          'f:spec': {
            'f:template': {
              'f:spec': { 'f:containers': { 'k:{"name":"web"}': { '.': {}, 'f:name': {}, 'f:image': {} } } },
            },
          },
        },
      },
    ]);
  });

  it('makes no change if repeated, whatever the time', () => {
    const config = deployment({ replicas: 3 });
    const first = applied(apply(stored(deployment({})), config, 'addon'));
    const again = applied(
      applyConfiguration(first.object, config, {
        ...request,
        time: '2026-02-02T00:00:00Z',
        manager: 'addon',
        entries: first.entries,
      }),
    );

    expect(again).toEqual(first);
  });
});
