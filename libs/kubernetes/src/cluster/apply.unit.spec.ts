import { describe, expect, it } from '@jest/globals';
import { ApiException, dumpYaml, type KubernetesObject } from '@kubernetes/client-node';
import { parse } from 'yaml';
import type { Manifest } from '../cluster.ports.js';
import type { KubernetesClient } from '../kubernetes.client.js';
import { applyAll } from './apply.js';

const DEFINITION: Manifest = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.org' },
  spec: { group: 'example.org' },
};
const WIDGET: Manifest = { apiVersion: 'example.org/v1', kind: 'Widget', metadata: { name: 'one' } };

/** An API that answers these errors, one after the other, before it takes a Widget. */
const apiThat = (errors: readonly Error[]) => {
  const left = [...errors];
  const applied: string[] = [];
  const patch = ({ kind }: Manifest): Promise<void> => {
    const error = kind === 'Widget' ? left.shift() : undefined;
    if (error !== undefined) return Promise.reject(error);
    applied.push(kind);
    return Promise.resolve();
  };
  const call = (_operation: string, work: () => Promise<unknown>) => work();
  return { applied, client: { call, objects: { patch } } as unknown as KubernetesClient };
};

const unknownGroup = new ApiException(404, 'Not Found', '404 page not found', {});
const unknownKind = new Error('Unrecognized API version and kind: example.org/v1 Widget');

describe('a list of objects', () => {
  it('has a custom resource wait until the API serves its definition from the same list', async () => {
    const { client, applied } = apiThat([unknownGroup, unknownKind]);
    await applyAll(client, [DEFINITION, WIDGET]);
    expect(applied).toEqual(['CustomResourceDefinition', 'Widget']);
  });

  it('reaches the API with the fields that the client names otherwise', async () => {
    const schema = { properties: { port: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }] } } };
    const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }];
    const sent: unknown[] = [];
    const patch = (object: KubernetesObject): Promise<void> => {
      sent.push(parse(dumpYaml(object)));
      return Promise.resolve();
    };
    const call = (_operation: string, work: () => Promise<unknown>) => work();
    const definition: Manifest = { ...DEFINITION, spec: { group: 'example.org', versions } };
    await applyAll({ call, objects: { patch } } as unknown as KubernetesClient, [definition]);
    expect(sent).toEqual([definition]);
  });

  it('fails at once with a kind that the API does not know and the list does not define', async () => {
    const { client, applied } = apiThat([unknownGroup]);
    await expect(applyAll(client, [WIDGET])).rejects.toBe(unknownGroup);
    expect(applied).toEqual([]);
  });

  it('fails at once with a custom resource that the API refuses', async () => {
    const invalid = new ApiException(422, 'Invalid', 'spec.size: Required value', {});
    const { client } = apiThat([invalid]);
    await expect(applyAll(client, [DEFINITION, WIDGET])).rejects.toBe(invalid);
  });
});
