import type { FairleadClient, Schemas } from '@fairlead/api-client';
import type { Access } from './access.js';
import type { Api } from './api.ports.js';
import { accepted, answerOf, at, dataOf, done, itemsOf } from './client.requests.js';

type ManifestMethods = 'manifest' | 'generations' | 'generation' | 'putManifest' | 'putScale';

export const manifestMethods = (access: Access, client: FairleadClient): Pick<Api, ManifestMethods> => ({
  manifest: (address, minSeq = 0) =>
    dataOf(
      access,
      client.GET('/ns/{namespace}/clusters/{cluster}/manifest', {
        params: { ...at(address).params, query: { minSeq } },
      }),
    ),
  generations: (address) =>
    dataOf(access, client.GET('/ns/{namespace}/clusters/{cluster}/manifest/generations', at(address))),
  generation: (address, generation) =>
    dataOf(
      access,
      client.GET('/ns/{namespace}/clusters/{cluster}/manifest/generations/{generation}', {
        params: { path: { ...address, generation: String(generation) } },
      }),
    ),
  putManifest: async (address, manifest, { dryRun, idempotencyKey }) => {
    const { data, response } = await answerOf(
      access,
      client.PUT('/ns/{namespace}/clusters/{cluster}/manifest', {
        params: {
          path: { ...address },
          query: dryRun ? { dryRun: 'All' } : {},
          header: { 'Idempotency-Key': idempotencyKey },
        },
        body: manifest as unknown as Schemas['ClusterManifest'],
      }),
    );
    return { ...accepted(response), manifest: data };
  },
  putScale: async (address, pool, scale, { dryRun, idempotencyKey }) => {
    const { data, response } = await answerOf(
      access,
      client.PUT('/ns/{namespace}/clusters/{cluster}/pools/{pool}/scale', {
        params: {
          path: { ...address, pool },
          query: dryRun ? { dryRun: 'All' } : {},
          header: { 'Idempotency-Key': idempotencyKey },
        },
        body: scale,
      }),
    );
    return { ...accepted(response), scale: data };
  },
});

const TEMPLATE = '/ns/{namespace}/cluster-templates/{template}';

type TemplateMethods = 'templates' | 'template' | 'putTemplate' | 'deleteTemplate';

export const templateMethods = (access: Access, client: FairleadClient): Pick<Api, TemplateMethods> => ({
  templates: (namespace) =>
    itemsOf(access, client.GET('/ns/{namespace}/cluster-templates', { params: { path: { namespace } } })),
  template: (path) => dataOf(access, client.GET(TEMPLATE, { params: { path: { ...path } } })),
  putTemplate: (path, manifest, { dryRun }) =>
    dataOf(
      access,
      client.PUT(TEMPLATE, {
        params: { path: { ...path }, query: dryRun ? { dryRun: 'All' } : {} },
        body: manifest as unknown as Schemas['ClusterTemplateManifest'],
      }),
    ),
  deleteTemplate: (path) => done(client.DELETE(TEMPLATE, { params: { path: { ...path } } })),
});
