import {
  ApiError,
  badRequest,
  conflict,
  invalid,
  notFound,
  STALE,
  unprocessable,
  unsupportedMediaType,
} from '../errors/api.error.js';
import { timestamp } from '../clock/clock.js';
import { asJson, isJsonObject, type Json, type JsonObject } from '../objects/json.js';
import type { KubeObject } from '../objects/kube.object.js';
import { applyConfiguration, type ApplyConflict } from '../patch/apply.patch.js';
import { applyJsonPatch, PatchRefused } from '../patch/json.patch.js';
import { applyMergePatch } from '../patch/merge.patch.js';
import { applyStrategicPatch } from '../patch/strategic.patch.js';
import { groupVersion, qualifiedName, type ResourceDefinition } from '../resources/resource.js';
import { parseBody, type RequestBody } from './body.js';
import type { Exchange } from './exchange.js';
import { isTrue } from './request.info.js';

export const APPLY_PATCH = 'application/apply-patch+yaml';
const PATCH_TYPES = ['application/json-patch+json', 'application/merge-patch+json', APPLY_PATCH];
const STRATEGIC_PATCH = 'application/strategic-merge-patch+json';

/** Applies the patch of the request to the object without storing it. */
export const patched = ({ resource, info }: Exchange, current: KubeObject, body: RequestBody): KubeObject => {
  const patch = parseBody(body);
  const next = refusing(resource, current, () =>
    patchBy(resource, body.mediaType, { current: asJson(current), patch }),
  );
  if (!isJsonObject(next) || !isJsonObject(next['metadata']))
    throw badRequest('the patched object is not an object with metadata');
  const object = next as unknown as KubeObject;
  requireSameIdentity(resource, current, object);
  const { resourceVersion } = object.metadata;
  if (resourceVersion !== undefined && resourceVersion !== current.metadata.resourceVersion) {
    throw conflict(resource, info.name ?? '', STALE);
  }
  return object;
};

const patchBy = (
  resource: ResourceDefinition,
  mediaType: string,
  { current, patch }: { readonly current: JsonObject; readonly patch: Json },
): Json => {
  switch (mediaType) {
    case 'application/json-patch+json':
      return applyJsonPatch(current, patch);
    case 'application/merge-patch+json':
      return applyMergePatch(current, patch);
    case STRATEGIC_PATCH:
      if (resource.custom) throw unsupportedMediaType(PATCH_TYPES);
      return applyStrategicPatch(current, patch);
  }
  throw unsupportedMediaType([...PATCH_TYPES, ...(resource.custom ? [] : [STRATEGIC_PATCH])]);
};

const refusing = (resource: ResourceDefinition, current: KubeObject, apply: () => Json): Json => {
  try {
    return apply();
  } catch (error) {
    if (!(error instanceof PatchRefused)) throw error;
    throw unprocessable(`${qualifiedName(resource)} "${current.metadata.name}" cannot be patched: ${error.message}`);
  }
};

const requireSameIdentity = (resource: ResourceDefinition, current: KubeObject, next: KubeObject): void => {
  if (next.metadata.name !== current.metadata.name || next.metadata.namespace !== current.metadata.namespace) {
    throw invalid(resource, current.metadata.name, [
      {
        field: 'metadata.name',
        reason: 'FieldValueInvalid',
        message: `Invalid value: ${JSON.stringify(next.metadata.name)}: field is immutable`,
      },
    ]);
  }
};

/** Server-side apply onto the stored object, or onto nothing. */
export const applied = (exchange: Exchange, current: KubeObject | undefined, body: RequestBody): KubeObject => {
  const { info, resource, cluster } = exchange;
  const manager = info.query.get('fieldManager') ?? '';
  if (manager === '')
    throw badRequest(
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    );
  const config = parseBody(body);
  const given = isJsonObject(config) ? config['metadata'] : undefined;
  if (!isJsonObject(config) || !isJsonObject(given))
    throw badRequest('an applied configuration is an object with metadata');
  if (given['managedFields'] !== undefined && !isEmptyList(given['managedFields']))
    throw badRequest('metadata.managedFields must be nil');
  if (given['name'] !== undefined && given['name'] !== info.name) {
    throw badRequest(
      `the name of the object (${String(given['name'])}) does not match the name on the URL (${info.name})`,
    );
  }
  if (current === undefined && given['uid'] !== undefined) throw notFound(resource, info.name ?? '');
  const metadata = { name: info.name ?? '', ...(info.namespace === undefined ? {} : { namespace: info.namespace }) };
  const { managedFields: _unused, ...desired } = given;
  const result = applyConfiguration(
    asJson(current ?? { apiVersion: groupVersion(info.group, info.version), kind: resource.kind, metadata }),
    { ...config, metadata: { ...desired, ...metadata } },
    {
      manager,
      force: isTrue(info.query.get('force')),
      apiVersion: groupVersion(info.group, info.version),
      time: timestamp(cluster.clock.now()),
      entries: current?.metadata.managedFields ?? [],
    },
  );
  if (result.outcome === 'conflict') throw applyConflict(result.conflicts);
  const object = result.object as unknown as KubeObject;
  return { ...object, metadata: { ...object.metadata, managedFields: result.entries } };
};

const isEmptyList = (value: Json): boolean => Array.isArray(value) && value.length === 0;

const applyConflict = (conflicts: readonly ApplyConflict[]): ApiError => {
  const listed = conflicts.map(({ manager, field }) => `conflict with "${manager}": ${field}`);
  const message = `Apply failed with ${conflicts.length} conflict${conflicts.length === 1 ? '' : 's'}: ${listed.join('\n')}`;
  return new ApiError(409, 'Conflict', message, {
    causes: conflicts.map(({ manager, field }) => ({
      reason: 'FieldManagerConflict',
      message: `conflict with "${manager}"`,
      field,
    })),
  });
};
