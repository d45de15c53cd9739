import { describe, expect, it } from '@jest/globals';
import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import { fromRegistry, inContainer, inPod, named, patched, remove, set, setEnv } from './manifest.patches.js';

const agent = {
  name: 'agent',
  image: 'registry.test/agent:1',
  env: [
    { name: 'A', value: '1' },
    { name: 'B', value: '2' },
  ],
};
const DAEMON: Manifest = {
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: { name: 'net' },
  spec: {
    template: { spec: { hostNetwork: true, containers: [agent, { name: 'other', image: 'elsewhere.test/x:1' }] } },
  },
};
const SETTINGS: Manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'net' }, data: { mode: 'tunnel' } };
const UPSTREAM = [DAEMON, SETTINGS];
const containersAfter = (...patches: Parameters<typeof patched>[1]): unknown =>
  (patched(UPSTREAM, patches)[0] as unknown as { spec: { template: { spec: { containers: unknown } } } }).spec.template
    .spec.containers;

describe('a patch of an upstream manifest', () => {
  it('sets a field of one object and changes neither the others nor the original', () => {
    const before = structuredClone(UPSTREAM);
    const [daemon, settings] = patched(UPSTREAM, [set('ConfigMap/net', ['data', 'mode'], 'native')]);
    expect(daemon).toBe(DAEMON);
    expect(settings).toEqual({ ...SETTINGS, data: { mode: 'native' } });
    expect(UPSTREAM).toEqual(before);
  });

  it('replaces an existing environment variable in place, and appends a new one', () => {
    expect(
      containersAfter(
        setEnv('DaemonSet/net', inContainer('agent'), 'A', '3'),
        setEnv('DaemonSet/net', inContainer('agent'), 'C', '4'),
      ),
    ).toMatchObject([
      {
        env: [
          { name: 'A', value: '3' },
          { name: 'B', value: '2' },
          { name: 'C', value: '4' },
        ],
      },
      { name: 'other' },
    ]);
  });

  it('removes a field or a list element', () => {
    expect(
      containersAfter(
        remove('DaemonSet/net', inPod('containers', named('other'))),
        remove('DaemonSet/net', inContainer('agent', 'env')),
      ),
    ).toEqual([{ name: 'agent', image: 'registry.test/agent:1' }]);
  });

  it('pulls the images of one registry from another', () => {
    expect(containersAfter(fromRegistry('registry.test/', 'mirror.test/'))).toMatchObject([
      { image: 'mirror.test/agent:1' },
      { image: 'elsewhere.test/x:1' },
    ]);
  });

  it.each([
    ['an object', set('Deployment/net', ['spec'], {}), 'Deployment/net'],
    ['a container', setEnv('DaemonSet/net', inContainer('gone'), 'A', '1'), 'containers[gone]'],
    ['a list', set('DaemonSet/net', inPod('volumes', named('x')), {}), 'spec.volumes[x]'],
    ['a field to remove', remove('ConfigMap/net', ['data', 'gone']), 'ConfigMap/net.data.gone'],
    ['an element to remove', remove('DaemonSet/net', inPod('containers', named('gone'))), 'containers[gone]'],
  ])('fails if upstream no longer has %s', (_, patch, what) => {
    expect(() => patched(UPSTREAM, [patch])).toThrow(what);
  });
});
