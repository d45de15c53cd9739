import { describe, expect, it } from '@jest/globals';
import { PatchRefused } from './json.patch.js';
import { applyStrategicPatch } from './strategic.patch.js';

const podSpec = (...containers: object[]) => ({ spec: { template: { spec: { containers } } } }) as never;

describe('A strategic merge patch', () => {
  it('changes the container of that name and keeps the others', () => {
    const target = podSpec(
      { name: 'web', image: 'nginx:1', env: [{ name: 'A', value: '1' }] },
      { name: 'log', image: 'fluentd' },
    );
    const patch = podSpec({ name: 'web', image: 'nginx:2' }, { name: 'new', image: 'busybox' });

    expect(applyStrategicPatch(target, patch)).toEqual(
      podSpec(
        { name: 'web', image: 'nginx:2', env: [{ name: 'A', value: '1' }] },
        { name: 'log', image: 'fluentd' },
        { name: 'new', image: 'busybox' },
      ),
    );
  });

  it('removes a list item with a delete directive, and then applies the order of names', () => {
    const target = podSpec({ name: 'a' }, { name: 'b' }, { name: 'c' });
    const patch = {
      spec: {
        template: {
          spec: {
            '$setElementOrder/containers': [{ name: 'c' }, { name: 'a' }],
            containers: [{ name: 'b', $patch: 'delete' }],
          },
        },
      },
    };

    expect(applyStrategicPatch(target, patch)).toEqual(podSpec({ name: 'c' }, { name: 'a' }));
  });

  it('identifies the ports of a container by number and protocol, and those of a service by number', () => {
    const container = { spec: { containers: [{ name: 'a', ports: [{ containerPort: 80, name: 'http' }] }] } };
    const service = { spec: { ports: [{ port: 80, targetPort: 8080 }] } };

    expect(
      applyStrategicPatch(container, { spec: { containers: [{ name: 'a', ports: [{ containerPort: 81 }] }] } }),
    ).toEqual({
      spec: { containers: [{ name: 'a', ports: [{ containerPort: 80, name: 'http' }, { containerPort: 81 }] }] },
    });
    expect(applyStrategicPatch(service, { spec: { ports: [{ port: 80, targetPort: 9090 }] } })).toEqual({
      spec: { ports: [{ port: 80, targetPort: 9090 }] },
    });
  });

  it("replaces a node's taints and a pod's tolerations as a whole, as kubectl taint relies on", () => {
    const node = {
      spec: {
        taints: [
          { key: 'a', effect: 'NoSchedule' },
          { key: 'b', effect: 'NoSchedule' },
        ],
      },
    };
    const kept = { spec: { taints: [{ key: 'b', effect: 'NoSchedule' }] } };

    expect(applyStrategicPatch(node, kept)).toEqual(kept);
    expect(applyStrategicPatch(node, { spec: { taints: null } })).toEqual({ spec: {} });
  });

  it('merges conditions by type and addresses by type', () => {
    const node = {
      status: {
        conditions: [
          { type: 'Ready', status: 'True' },
          { type: 'DiskPressure', status: 'False' },
        ],
      },
    };

    expect(applyStrategicPatch(node, { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } })).toEqual({
      status: {
        conditions: [
          { type: 'Ready', status: 'Unknown' },
          { type: 'DiskPressure', status: 'False' },
        ],
      },
    });
  });

  it('treats finalizers as a set, and takes plain values out of lists', () => {
    const object = { metadata: { finalizers: ['a', 'b'] } };

    expect(applyStrategicPatch(object, { metadata: { finalizers: ['b', 'c'] } })).toEqual({
      metadata: { finalizers: ['a', 'b', 'c'] },
    });
    expect(applyStrategicPatch(object, { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } })).toEqual({
      metadata: { finalizers: ['b'] },
    });
  });

  it('keeps only the members of an object that $retainKeys lists', () => {
    const target = { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } };
    const patch = { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } };

    expect(applyStrategicPatch(target, patch)).toEqual({ spec: { strategy: { type: 'Recreate' } } });
  });

  it('replaces an object with a replace directive, without keeping the directive', () => {
    const target = { spec: { selector: { matchLabels: { a: '1', b: '2' } } } };
    const patch = { spec: { selector: { $patch: 'replace', matchLabels: { a: '1' } } } };

    expect(applyStrategicPatch(target, patch)).toEqual({ spec: { selector: { matchLabels: { a: '1' } } } });
  });

  it('removes members that are null, also in new list items', () => {
    const target = { metadata: { labels: { a: '1', b: '2' } } };

    expect(applyStrategicPatch(target, { metadata: { labels: { a: null } } })).toEqual({
      metadata: { labels: { b: '2' } },
    });
    expect(applyStrategicPatch({}, podSpec({ name: 'a', image: null }))).toEqual(podSpec({ name: 'a' }));
  });

  it('is refused if an item of a keyed list has no key', () => {
    expect(() => applyStrategicPatch(podSpec({ name: 'a' }), podSpec({ image: 'x' }))).toThrow(PatchRefused);
  });
});
