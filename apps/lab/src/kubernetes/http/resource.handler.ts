import { badRequest, methodNotAllowed, notFound } from '../errors/api.error.js';
import type { Draft, KubeObject } from '../objects/kube.object.js';
import { REVIEW_RESOURCES } from '../resources/review.resources.js';
import { groupVersion, hasSubresource, versionsOf, type ResourceDefinition } from '../resources/resource.js';
import { admittedRequest } from '../certificates/signing.js';
import { partialMetadata, tableOf } from '../tables/table.js';
import { sendJson, success } from './answer.js';
import { judgementOf } from './judgement.js';
import { parseObject, parseOptional, readBody } from './body.js';
import { presented, shaped, tableOptions, type Exchange } from './exchange.js';
import { withKnownFields } from './field.validation.js';
import { pageOf } from './list.page.js';
import { APPLY_PATCH, applied, patched } from './patching.js';
import { answerReview } from './reviews.js';
import { nameIn, selectionOf } from './selection.js';
import { WatchStream } from './watch.stream.js';
import { deleteOptions, isDryRun } from './write.options.js';

/**
 * Handles a request about the objects of one resource. Watches are passed to `keep`, which ends them when the listener
 * closes.
 */
export const handleResource = async (exchange: Exchange, keep: (watch: WatchStream) => void): Promise<void> => {
  const { info, resource } = exchange;
  if (!resource.verbs.includes(info.verb)) throw methodNotAllowed();
  switch (info.verb) {
    case 'get':
      return sendJson(exchange.response, 200, shaped(exchange, stored(exchange)), exchange.form.encoding);
    case 'list':
      return list(exchange);
    case 'watch':
      return watch(exchange, keep);
    case 'create':
      return create(exchange);
    case 'update':
      return update(exchange);
    case 'patch':
      return patch(exchange);
    case 'delete':
      return remove(exchange);
    case 'deletecollection':
      return removeAll(exchange);
  }
};

const stored = ({ cluster, resource, info }: Exchange): KubeObject => {
  const object = cluster.store.get(resource, info.namespace, info.name ?? '');
  if (object === undefined) throw notFound(resource, info.name ?? '');
  return object;
};

const list = (exchange: Exchange): void => {
  const { cluster, resource, info, form, response } = exchange;
  const selection = selectionOf(resource, info, info.query);
  const page = pageOf(cluster.store, resource, { selection, query: info.query });
  const metadata = {
    resourceVersion: String(page.version),
    ...(page.continueToken === '' ? {} : { continue: page.continueToken, remainingItemCount: page.remaining }),
  };
  const items = page.objects.map((object) => presented(exchange, object));
  switch (form.as) {
    case 'table':
      return sendJson(response, 200, tableOf(resource, items, tableOptions(exchange, metadata)), form.encoding);
    case 'metadata': {
      const kind = { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${form.metaVersion}`, metadata };
      return sendJson(
        response,
        200,
        { ...kind, items: items.map((item) => partialMetadata(item, form.metaVersion)) },
        form.encoding,
      );
    }
    case 'object':
      return sendJson(
        response,
        200,
        { kind: `${resource.kind}List`, apiVersion: groupVersion(info.group, info.version), metadata, items },
        form.encoding,
      );
  }
};

const watch = (exchange: Exchange, keep: (watch: WatchStream) => void): void => {
  const { cluster, resource, info, response } = exchange;
  const stream = new WatchStream(response, {
    store: cluster.store,
    clock: cluster.clock,
    resource,
    selection: selectionOf(resource, info, info.query),
    name: nameIn(info, info.query),
    query: info.query,
    shape: (object) => shaped(exchange, object),
  });
  keep(stream);
  stream.start();
};

const expected = ({ resource }: Exchange): { readonly apiVersions: readonly string[]; readonly kind: string } => ({
  apiVersions: versionsOf(resource).map((version) => groupVersion(resource.group, version)),
  kind: resource.kind,
});

const create = async (exchange: Exchange): Promise<void> => {
  const { cluster, resource, info, request, response, identity } = exchange;
  const draft = parseObject(await readBody(request), expected(exchange));
  const { namespace } = draft.metadata;
  if (namespace !== undefined && namespace !== '' && namespace !== info.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  const { namespace: _given, ...metadata } = draft.metadata;
  const placed = {
    ...withoutStatus(resource, draft),
    metadata: resource.namespaced ? { ...metadata, namespace: info.namespace ?? '' } : metadata,
  };
  if (REVIEW_RESOURCES.includes(resource)) {
    return sendJson(response, 201, answerReview(resource, placed, { identity, ...judgementOf(cluster.store) }));
  }
  const admitted = admittedRequest(resource, withKnownFields(exchange, placed), identity);
  const object = cluster.api.create(resource, admitted, { dryRun: isDryRun(info.query) });
  sendJson(response, 201, shaped(exchange, object), exchange.form.encoding);
};

/** The status of a new object is set by controllers; only kubelets send that of their node. */
const withoutStatus = (resource: ResourceDefinition, draft: Draft): Draft => {
  if (!hasSubresource(resource, 'status') || resource.plural === 'nodes') return draft;
  const { status: _asked, ...desired } = draft;
  return desired;
};

const update = async (exchange: Exchange): Promise<void> => {
  const { cluster, resource, info, request, response } = exchange;
  const given = parseObject(await readBody(request), expected(exchange));
  const { name } = given.metadata;
  if (name !== undefined && name !== info.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${info.name})`);
  }
  stored(exchange);
  const metadata = {
    ...given.metadata,
    name: info.name ?? '',
    ...(info.namespace === undefined ? {} : { namespace: info.namespace }),
  };
  const next = { ...given, metadata } as unknown as KubeObject;
  const object = cluster.api.update(resource, withKnownFields(exchange, next), { dryRun: isDryRun(info.query) });
  sendJson(response, 200, shaped(exchange, object), exchange.form.encoding);
};

const patch = async (exchange: Exchange): Promise<void> => {
  const { cluster, resource, info, request, response, form } = exchange;
  const body = await readBody(request);
  const options = { dryRun: isDryRun(info.query) };
  if (body.mediaType !== APPLY_PATCH) {
    const next = withKnownFields(exchange, patched(exchange, stored(exchange), body));
    const object = cluster.api.update(resource, next, options);
    return sendJson(response, 200, shaped(exchange, object), form.encoding);
  }
  const current = cluster.store.get(resource, info.namespace, info.name ?? '');
  const next = withKnownFields(exchange, applied(exchange, current, body));
  const object =
    current === undefined ? cluster.api.create(resource, next, options) : cluster.api.update(resource, next, options);
  sendJson(response, current === undefined ? 201 : 200, shaped(exchange, object), form.encoding);
};

const remove = async (exchange: Exchange): Promise<void> => {
  const { cluster, resource, info, request, response } = exchange;
  const options = deleteOptions(parseOptional(await readBody(request)), info.query);
  const object = stored(exchange);
  const left = cluster.deletion.delete(resource, object, options);
  const { name, uid } = object.metadata;
  const group = resource.group === '' ? {} : { group: resource.group };
  sendJson(
    response,
    200,
    left === undefined ? success({ name, ...group, kind: resource.plural, uid }) : shaped(exchange, left),
  );
};

const removeAll = async (exchange: Exchange): Promise<void> => {
  const { cluster, resource, info, request } = exchange;
  const options = deleteOptions(parseOptional(await readBody(request)), info.query);
  for (const object of cluster.store.list(resource).filter(selectionOf(resource, info, info.query))) {
    cluster.deletion.delete(resource, object, options);
  }
  list(exchange);
};
