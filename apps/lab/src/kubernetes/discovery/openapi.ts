import { schemasOf } from './openapi.schemas.js';
import { groupVersion, versionsOf, type ResourceDefinition } from '../resources/resource.js';

/**
 * OpenAPI documents that describe only what the simulation supports: which kinds can be patched, with which query
 * parameters, and in version 3 their fields. Merge strategies are omitted, because kubectl knows those of the built-in
 * types.
 */
const TITLE = 'Kubernetes (simulated by the Fairlead lab)';

export const openApiV3Index = (resources: readonly ResourceDefinition[]): object => {
  const pairs = new Set(
    resources.flatMap((resource) => versionsOf(resource).map((version) => groupVersion(resource.group, version))),
  );
  const paths = [...pairs].map((name) => {
    const root = name.includes('/') ? `apis/${name}` : `api/${name}`;
    return [root, { serverRelativeURL: `/openapi/v3/${root}` }] as const;
  });
  return { paths: Object.fromEntries(paths) };
};

const parameter = (name: string): object => ({ name, in: 'query', schema: { type: 'string', uniqueItems: true } });

/** kubectl determines from these whether the server supports `fieldValidation` and `dryRun` for a kind. */
const PATCH_PARAMETERS = ['dryRun', 'fieldManager', 'fieldValidation', 'force'].map(parameter);

export const openApiV3 = (all: readonly ResourceDefinition[], group: string, version: string): object => {
  const resources = all.filter((resource) => resource.group === group && versionsOf(resource).includes(version));
  const patchable = resources.filter(({ verbs }) => verbs.includes('patch'));
  return {
    openapi: '3.0.0',
    info: { title: TITLE, version: 'simulation' },
    paths: Object.fromEntries(
      patchable.map((resource) => [pathOf(resource, version), { patch: patchOperation(resource, version) }]),
    ),
    components: { schemas: schemasOf(resources, version) },
  };
};

const pathOf = (resource: ResourceDefinition, version: string): string => {
  const root = resource.group === '' ? `/api/${version}` : `/apis/${resource.group}/${version}`;
  return `${root}${resource.namespaced ? '/namespaces/{namespace}' : ''}/${resource.plural}/{name}`;
};

const patchOperation = (resource: ResourceDefinition, version: string): object => ({
  parameters: PATCH_PARAMETERS,
  responses: { '200': { description: 'OK' } },
  'x-kubernetes-action': 'patch',
  'x-kubernetes-group-version-kind': { group: resource.group, version, kind: resource.kind },
});

export const openApiV2 = (): object => ({
  swagger: '2.0',
  info: { title: TITLE, version: 'simulation' },
  paths: {},
  definitions: {},
});

/** The same document as protobuf, for kubectl (gnostic's openapi.v2.Document: 1 swagger, 2 info, 8 paths). */
export const openApiV2Protobuf = (): Buffer => {
  const info = Buffer.concat([field(1, Buffer.from(TITLE)), field(2, Buffer.from('simulation'))]);
  return Buffer.concat([field(1, Buffer.from('2.0')), field(2, info), field(8, Buffer.alloc(0))]);
};

/** A length-delimited field. All are shorter than 128 bytes, so the length takes one byte. */
const field = (number: number, value: Buffer): Buffer =>
  Buffer.concat([Buffer.from([(number << 3) | 2, value.length]), value]);
