import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startLabCluster, type LabCluster } from '../../../../libs/kubernetes/test/lab.cluster.js';
import type { Manifest } from '../kubernetes/kubernetes.ports.js';
import { AppliedObjects } from './applied.objects.js';
import type { DesiredRelease, ReleaseAt } from './releases.ports.js';

const CASE_LIMIT_MS = 60_000;
const engine = new AppliedObjects();
let lab: LabCluster;
let at: ReleaseAt;

const map = (name: string, text = 'a'): Manifest => ({
  ...{ apiVersion: 'v1', kind: 'ConfigMap' },
  metadata: { name },
  data: { text },
});
const desired = (...manifests: readonly Manifest[]): DesiredRelease => ({
  source: { kind: 'manifests', manifests: manifests as never, version: '0.0.0' },
  ...{ values: {}, setBy: {}, sealed: [], waits: false },
});
const textOf = async (name: string, namespace = 'art'): Promise<string | undefined> =>
  (await lab.cluster.configMap(namespace, name))?.['text'];

beforeAll(async () => {
  lab = await startLabCluster({ controlPlanes: 1, workers: 1 });
  at = { name: 'objects', namespace: 'art', kubeconfig: lab.kubeconfig, api: lab.cluster };
}, CASE_LIMIT_MS);
afterAll(() => lab?.stop(), CASE_LIMIT_MS);

describe('objects of an add-on, in a cluster of the lab', () => {
  it(
    'are applied unchanged, pruned when they are removed, and all deleted at the end',
    async () => {
      expect(await engine.status(at)).toBeUndefined();
      await engine.deploy(at, desired(map('one', '{{ kept }}'), map('two')));
      expect(await engine.status(at)).toEqual({ revision: 1, status: 'deployed' });
      expect([await textOf('one'), await textOf('two')]).toEqual(['{{ kept }}', 'a']);
      expect(await engine.differs(at, desired(map('one', '{{ kept }}'), map('two')))).toBe(false);
      expect(await engine.differs(at, desired(map('two', 'b')))).toBe(true);
      await engine.deploy(at, desired(map('two', 'b')));
      expect(await engine.status(at)).toEqual({ revision: 2, status: 'deployed' });
      expect([await textOf('one'), await textOf('two')]).toEqual([undefined, 'b']);
      await engine.uninstall(at);
      expect([await textOf('two'), await engine.status(at)]).toEqual([undefined, undefined]);
      await engine.uninstall(at);
    },
    CASE_LIMIT_MS,
  );

  it(
    'keep fields owned by others; applied fields are taken over',
    async () => {
      await engine.deploy(at, desired(map('shared')));
      const change = [{ op: 'add', path: '/data/other', value: 'theirs' }];
      await lab.client.core.patchNamespacedConfigMap({ namespace: 'art', name: 'shared', body: change });
      expect(await engine.drift(at, [map('shared')])).toEqual([]);
      await engine.deploy(at, desired(map('shared', 'b')));
      expect(await lab.cluster.configMap('art', 'shared')).toEqual({ text: 'b', other: 'theirs' });
      await engine.uninstall(at);
    },
    CASE_LIMIT_MS,
  );

  it(
    'are all in the inventory even if the service is killed while they are applied',
    async () => {
      let left = 1;
      const dying = { ...at, api: killedAfter(lab.cluster, () => (left -= 1) < 0) };
      for (; left < 8; left += 1) {
        const calls = left;
        await engine.deploy(dying, desired(map('one'), map('two'))).catch(() => undefined);
        left = calls;
        await engine.deploy(at, desired(map('three')));
        expect([await textOf('one'), await textOf('two'), await textOf('three')]).toEqual([undefined, undefined, 'a']);
        await engine.uninstall(at);
      }
    },
    CASE_LIMIT_MS,
  );

  it(
    'whose kind is defined among them are applied after its definition, and not pruned as different objects',
    async () => {
      const [group, plural] = ['art.fairlead.dev', 'brushes'];
      const definition: Manifest = {
        ...{ apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' },
        metadata: { name: `${plural}.${group}` },
        spec: {
          ...{ group, scope: 'Namespaced', names: { plural, singular: 'brush', kind: 'Brush' } },
          versions: [
            {
              ...{ name: 'v1', served: true, storage: true },
              schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
            },
          ],
        },
      };
      const brush: Manifest = { apiVersion: `${group}/v1`, kind: 'Brush', metadata: { name: 'fine' } };
      const found = async (): Promise<number> =>
        (await lab.client.get(`/apis/${group}/v1/namespaces/art/${plural}/fine`)).status;
      await engine.deploy(at, desired(brush, definition));
      expect(await found()).toBe(200);
      await engine.deploy(at, desired(brush, definition, map('one')));
      expect(await found()).toBe(200);
      expect(await engine.drift(at, [brush, definition])).toEqual([]);
      await engine.uninstall(at);
      expect(await found()).toBe(404);
    },
    CASE_LIMIT_MS,
  );

  it('whose inventory was changed by others fail with that error and are not left behind', async () => {
    await engine.deploy(at, desired(map('one')));
    const list = { ...map('fairlead-addon-objects'), data: { inventory: 'nothing' } };
    await lab.cluster.apply([{ ...list, metadata: { ...list.metadata, namespace: 'art' } }]);
    await expect(engine.uninstall(at)).rejects.toThrow('was changed by others');
  });
});

/** The API of a cluster for a service that is killed at one of its calls. */
const killedAfter = (api: ReleaseAt['api'], isDead: () => boolean): ReleaseAt['api'] =>
  new Proxy(api, {
    get: (target, method: keyof ReleaseAt['api']) => {
      return async (...args: unknown[]) => {
        if (isDead()) throw new Error('killed');
        return (target[method] as (...all: unknown[]) => Promise<unknown>).apply(target, args);
      };
    },
  });
