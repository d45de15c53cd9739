import { describe, expect, it } from '@jest/globals';
import {
  ApiException,
  createConfiguration,
  ResponseContext,
  ServerConfiguration,
  wrapHttpLibrary,
} from '@kubernetes/client-node';
import type { Manifest } from '../cluster.ports.js';
import type { KubernetesClient } from '../kubernetes.client.js';
import { ObjectApi } from '../known.resources.js';
import { applyAll } from './apply.js';

const DEFINITION: Manifest = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.org' },
  spec: { group: 'example.org' },
};
const WIDGET: Manifest = { apiVersion: 'example.org/v1', kind: 'Widget', metadata: { name: 'one' } };

/** An API that returns these errors one by one before it accepts a Widget. */
const apiThat = (errors: readonly Error[]) => {
  const left = [...errors];
  const applied: string[] = [];
  const apply = ({ kind }: Manifest): Promise<void> => {
    const error = kind === 'Widget' ? left.shift() : undefined;
    if (error !== undefined) return Promise.reject(error);
    applied.push(kind);
    return Promise.resolve();
  };
  const call = (_operation: string, work: () => Promise<unknown>) => work();
  return { applied, client: { call, objects: { apply } } as unknown as KubernetesClient };
};

/** The client of a server that returns this response to every request. */
const serverThat = ({ httpStatusCode, text }: { readonly httpStatusCode: number; readonly text: string }) => {
  const sent: { url: string; method: string; type: string | undefined; body: unknown }[] = [];
  const httpApi = wrapHttpLibrary({
    send: (context) => {
      const body: unknown = JSON.parse(String(context.getBody()));
      const type = context.getHeaders()['Content-Type'];
      sent.push({ url: context.getUrl(), method: context.getHttpMethod(), type, body });
      const answer = { text: () => Promise.resolve(text), binary: () => Promise.resolve(Buffer.from(text)) };
      return Promise.resolve(new ResponseContext(httpStatusCode, {}, answer));
    },
  });
  const baseServer = new ServerConfiguration('https://api.test', {});
  const objects = new ObjectApi(createConfiguration({ baseServer, httpApi }));
  const call = (_operation: string, work: () => Promise<unknown>) => work();
  return { sent, client: { call, objects } as unknown as KubernetesClient };
};

const unknownGroup = new ApiException(404, 'Not Found', '404 page not found', {});
const unknownKind = new Error('Unrecognized API version and kind: example.org/v1 Widget');

describe('a list of objects', () => {
  it('delays a custom resource until the API serves its definition from the same list', async () => {
    const { client, applied } = apiThat([unknownGroup, unknownKind]);
    await applyAll(client, [DEFINITION, WIDGET]);
    expect(applied).toEqual(['CustomResourceDefinition', 'Widget']);
  });

  it('reaches the API with the fields that the client renames', async () => {
    const schema = { properties: { port: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }] } } };
    const versions = [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } }];
    const definition: Manifest = { ...DEFINITION, spec: { group: 'example.org', versions } };
    const { sent, client } = serverThat({ httpStatusCode: 201, text: '{}' });
    await applyAll(client, [definition]);
    expect(sent).toEqual([
      {
        url: 'https://api.test/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.org?fieldManager=fairlead&force=true',
        method: 'PATCH',
        type: 'application/apply-patch+yaml',
        body: definition,
      },
    ]);
  });

  it('is written into the namespace of the path, without changes to the manifest', async () => {
    const account: Manifest = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'one' } };
    const { sent, client } = serverThat({ httpStatusCode: 200, text: '{}' });
    await applyAll(client, [account]);
    expect(sent[0]?.url).toMatch(/\/api\/v1\/namespaces\/default\/serviceaccounts\/one\?/);
    expect(account.metadata).toEqual({ name: 'one' });
  });

  it('fails with the status and message of the API', async () => {
    const { client } = serverThat({ httpStatusCode: 409, text: '{"message":"in use"}' });
    await expect(applyAll(client, [DEFINITION])).rejects.toMatchObject({ code: 409, body: '{"message":"in use"}' });
  });

  it('fails at once for a kind that the API does not know and the list does not define', async () => {
    const { client, applied } = apiThat([unknownGroup]);
    await expect(applyAll(client, [WIDGET])).rejects.toBe(unknownGroup);
    expect(applied).toEqual([]);
  });

  it('fails at once for a custom resource that the API rejects', async () => {
    const invalid = new ApiException(422, 'Invalid', 'spec.size: Required value', {});
    const { client } = apiThat([invalid]);
    await expect(applyAll(client, [DEFINITION, WIDGET])).rejects.toBe(invalid);
  });
});
