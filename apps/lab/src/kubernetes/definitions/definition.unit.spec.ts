import { expect, it } from '@jest/globals';
import { definitionController } from '../controllers/definition.controller.js';
import type { World } from '../controllers/world.js';
import type { KubeObject } from '../objects/kube.object.js';
import { CUSTOM_RESOURCE_DEFINITIONS } from '../resources/builtin.resources.js';
import { ResourceRegistry } from '../resources/resource.registry.js';
import { isEstablished, planDefinition } from './definition.planner.js';

const STORED = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.org', uid: 'uid-1', resourceVersion: '1', creationTimestamp: '' },
  spec: {
    group: 'example.org',
    scope: 'Cluster',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [{ name: 'v1', served: true, storage: true }],
  },
} as KubeObject;

it('a custom resource is served when its definition is established, not when it is stored (as kube-apiserver 1.34 does)', () => {
  const registry = new ResourceRegistry();
  const controller = definitionController({} as World, registry);
  const write = (type: 'ADDED' | 'MODIFIED', object: KubeObject) =>
    controller.keysFor({ type, version: 1, resource: CUSTOM_RESOURCE_DEFINITIONS, object, previous: undefined });
  write('ADDED', STORED);
  expect(registry.findKind('example.org/v1', 'Widget')).toBeUndefined();

  const [operation] = planDefinition(STORED, '2026-01-20T10:00:00Z');
  const established = (operation as { readonly object: KubeObject }).object;
  expect(isEstablished(established)).toBe(true);
  write('MODIFIED', established);
  expect(registry.findKind('example.org/v1', 'Widget')).toMatchObject({ plural: 'widgets' });
});
