import type { DeleteOptions, Propagation } from '../api/deletion.js';
import { badRequest } from '../errors/api.error.js';
import { isJsonObject, type JsonObject } from '../objects/json.js';
import { isTrue } from './request.info.js';

export const isDryRun = (query: URLSearchParams): boolean => query.getAll('dryRun').includes('All');

/** DeleteOptions from the body, with defaults from the query. */
export const deleteOptions = (body: JsonObject, query: URLSearchParams): DeleteOptions => {
  const grace = body['gracePeriodSeconds'] ?? query.get('gracePeriodSeconds') ?? undefined;
  const policy = propagation(body, query);
  const preconditions = body['preconditions'];
  const dryRun = isDryRun(query) || (Array.isArray(body['dryRun']) && body['dryRun'].includes('All'));
  return {
    ...(grace === undefined ? {} : { gracePeriodSeconds: seconds(grace) }),
    ...(policy === undefined ? {} : { propagationPolicy: policy }),
    ...(isJsonObject(preconditions) ? { preconditions: texts(preconditions) } : {}),
    dryRun,
  };
};

const propagation = (body: JsonObject, query: URLSearchParams): Propagation | undefined => {
  const policy = body['propagationPolicy'] ?? query.get('propagationPolicy');
  const orphan = body['orphanDependents'] === true || isTrue(query.get('orphanDependents'));
  if (policy === null) return orphan ? 'Orphan' : undefined;
  if (policy === 'Background' || policy === 'Foreground' || policy === 'Orphan') return policy;
  throw badRequest(`invalid propagationPolicy: ${String(policy)}`);
};

const seconds = (value: unknown): number => {
  const number = Number(value);
  if (!Number.isInteger(number)) throw badRequest(`invalid gracePeriodSeconds: ${String(value)}`);
  return number;
};

const texts = (preconditions: JsonObject): { readonly uid?: string; readonly resourceVersion?: string } => ({
  ...(typeof preconditions['uid'] === 'string' ? { uid: preconditions['uid'] } : {}),
  ...(typeof preconditions['resourceVersion'] === 'string'
    ? { resourceVersion: preconditions['resourceVersion'] }
    : {}),
});
