import { ApiError, badRequest, methodNotAllowed, noSuchPath, notFound } from '../errors/api.error.js';
import { timestamp } from '../clock/clock.js';
import { planEviction } from '../disruption/eviction.planner.js';
import type { Pod } from '../objects/core.types.js';
import { asJson, isJsonObject, valueAt, type JsonObject } from '../objects/json.js';
import { selectorText, type LabelSelector } from '../objects/label.selector.js';
import { withCondition, type KubeObject } from '../objects/kube.object.js';
import { POD_DISRUPTION_BUDGETS, PODS } from '../resources/builtin.resources.js';
import { qualifiedName } from '../resources/resource.js';
import { sendJson, sendText, success } from './answer.js';
import { parseBody, readBody } from './body.js';
import { presented, type Exchange } from './exchange.js';
import { patched } from './patching.js';
import { handleProxy } from './proxying.js';
import { deleteOptions, isDryRun } from './write.options.js';

/** The object of a subresource. */
const parent = ({ cluster, resource, info }: Exchange): KubeObject => {
  const object = cluster.store.get(resource, info.namespace, info.name ?? '');
  if (object === undefined) throw notFound(resource, info.name ?? '');
  return object;
};

/** Handles a request of a subresource. @throws {ApiError} 404 for subresources that the resource does not have. */
export const handleSubresource = async (exchange: Exchange): Promise<void> => {
  const { resource, info, response } = exchange;
  if (!resource.subresources.some((name) => name === info.subresource)) throw noSuchPath();
  switch (info.subresource) {
    case 'status':
    case 'approval':
      return status(exchange);
    case 'scale':
      return scale(exchange);
    case 'eviction':
      return evict(exchange);
    case 'binding':
      return bind(exchange);
    case 'finalize':
      return sendJson(response, 200, presented(exchange, parent(exchange)));
    case 'log':
      return log(exchange);
    case 'proxy':
      return handleProxy(exchange);
    case 'exec':
      throw badRequest('you must specify at least 1 of stdin, stdout, stderr, over a WebSocket');
    case undefined:
      break;
  }
  throw noSuchPath();
};

const bodyObject = async (exchange: Exchange): Promise<JsonObject> => {
  const value = parseBody(await readBody(exchange.request));
  if (!isJsonObject(value)) throw badRequest('the body of the request is not an object');
  return value;
};

const status = async (exchange: Exchange): Promise<void> => {
  const { cluster, resource, info, request, response } = exchange;
  const current = parent(exchange);
  if (info.verb === 'get') return sendJson(response, 200, presented(exchange, current), exchange.form.encoding);
  if (info.verb !== 'patch' && info.verb !== 'update') throw methodNotAllowed();
  const body = await readBody(request);
  const next =
    info.verb === 'patch'
      ? patched(exchange, current, body)
      : ({ ...current, ...asObject(parseBody(body)) } as KubeObject);
  const stored = cluster.api.updateStatus(resource, next, { dryRun: isDryRun(info.query) });
  sendJson(response, 200, presented(exchange, stored), exchange.form.encoding);
  if (info.subresource === 'approval') cluster.sign(stored.metadata.name);
};

const asObject = (value: unknown): JsonObject => (isJsonObject(value) ? value : {});

const scaleOf = (object: KubeObject): KubeObject & { readonly spec: { readonly replicas: number } } => {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const selector = valueAt(object, 'spec.selector');
  return {
    kind: 'Scale',
    apiVersion: 'autoscaling/v1',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }), uid, resourceVersion, creationTimestamp },
    spec: { replicas: Number(valueAt(object, 'spec.replicas') ?? 0) },
    ...{
      status: {
        replicas: Number(valueAt(object, 'status.replicas') ?? 0),
        selector: selectorText(selector as LabelSelector | undefined),
      },
    },
  };
};

const scale = async (exchange: Exchange): Promise<void> => {
  const { cluster, resource, info, request, response } = exchange;
  const current = parent(exchange);
  if (info.verb === 'get') return sendJson(response, 200, scaleOf(current));
  if (info.verb !== 'patch' && info.verb !== 'update') throw methodNotAllowed();
  const next =
    info.verb === 'patch'
      ? asJson(patched(exchange, scaleOf(current), await readBody(request)))
      : await bodyObject(exchange);
  const replicas = valueAt(next, 'spec.replicas') ?? 0;
  const version = valueAt(next, 'metadata.resourceVersion');
  const scaled = {
    ...current,
    spec: { ...asObject(asJson(current)['spec']), replicas },
    metadata:
      typeof version === 'string' && version !== ''
        ? { ...current.metadata, resourceVersion: version }
        : current.metadata,
  };
  sendJson(response, 200, scaleOf(cluster.api.update(resource, scaled, { dryRun: isDryRun(info.query) })));
};

/** As an API server refuses whose validating webhook denies evictions, or does not answer. */
const refuseByWebhook = (fault: { readonly status: number; readonly message: string } | undefined): void => {
  if (fault !== undefined)
    throw new ApiError(fault.status, fault.status === 403 ? 'Forbidden' : 'InternalError', fault.message);
};

const evict = async (exchange: Exchange): Promise<void> => {
  const { cluster, info, response } = exchange;
  if (info.verb !== 'create') throw methodNotAllowed();
  const body = await bodyObject(exchange);
  const pod = cluster.store.get(PODS, info.namespace, info.name ?? '');
  if (pod === undefined) throw notFound(PODS, info.name ?? '');
  const verdict = planEviction(
    pod,
    cluster.store.list(POD_DISRUPTION_BUDGETS, info.namespace),
    timestamp(cluster.clock.now()),
  );
  refuseByWebhook(cluster.evictionFault(pod.spec.nodeName ?? ''));
  const options = deleteOptions(asObject(body['deleteOptions']), info.query);
  switch (verdict.verdict) {
    case 'refuse': {
      const causes = [{ reason: 'DisruptionBudget', message: verdict.cause }];
      const wait = verdict.retryAfterSeconds === 0 ? {} : { retryAfterSeconds: verdict.retryAfterSeconds };
      throw new ApiError(429, 'TooManyRequests', verdict.message, { causes, ...wait });
    }
    case 'unsupported':
      throw new ApiError(500, 'InternalError', verdict.message);
    case 'spend':
      if (options.dryRun !== true) cluster.store.replace(POD_DISRUPTION_BUDGETS, verdict.budget);
      break;
    case 'evict':
      break;
  }
  cluster.deletion.delete(PODS, options.dryRun === true ? pod : markDisrupted(exchange, pod), options);
  sendJson(response, 201, { ...success({}), code: 201 });
};

/** Adds the condition that shows why the pod ends. */
const markDisrupted = ({ cluster }: Exchange, pod: Pod): Pod => {
  const conditions = withCondition(pod.status?.conditions, {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
    lastTransitionTime: timestamp(cluster.clock.now()),
  });
  return cluster.store.replace(PODS, { ...pod, status: { ...pod.status, conditions } });
};

const bind = async (exchange: Exchange): Promise<void> => {
  const { cluster, info, response } = exchange;
  if (info.verb !== 'create') throw methodNotAllowed();
  const nodeName = valueAt(await bodyObject(exchange), 'target.name');
  const pod = cluster.store.get(PODS, info.namespace, info.name ?? '');
  if (pod === undefined) throw notFound(PODS, info.name ?? '');
  if (typeof nodeName !== 'string' || nodeName === '') throw badRequest('target.name is required');
  if (pod.spec.nodeName !== undefined && pod.spec.nodeName !== '') {
    const why = `pod ${pod.metadata.name} is already assigned to node "${pod.spec.nodeName}"`;
    throw new ApiError(
      409,
      'Conflict',
      `Operation cannot be fulfilled on ${qualifiedName(PODS)} "${pod.metadata.name}": ${why}`,
    );
  }
  cluster.store.replace(PODS, { ...pod, spec: { ...pod.spec, nodeName } });
  sendJson(response, 201, { ...success({}), code: 201 });
};

const log = (exchange: Exchange): void => {
  const { cluster, info, response } = exchange;
  const pod = cluster.store.get(PODS, info.namespace, info.name ?? '');
  if (pod === undefined) throw notFound(PODS, info.name ?? '');
  const names = pod.spec.containers.map(({ name }) => name);
  const container = info.query.get('container') ?? names[0] ?? '';
  if (!names.includes(container)) throw badRequest(`container ${container} is not valid for pod ${pod.metadata.name}`);
  sendText(
    response,
    200,
    `This cluster is a simulation by the Fairlead lab: container ${container} of pod ${pod.metadata.name} runs no program and writes no log.\n`,
  );
};
