import { badRequest } from '../errors/api.error.js';
import { asJson } from '../objects/json.js';
import type { Draft, KubeObject } from '../objects/kube.object.js';
import { schemaName } from '../schema/message.schema.js';
import { pruneUnknown } from '../schema/unknown.fields.js';
import type { Exchange } from './exchange.js';

/** Clients print these one by one; an invalid body must not produce megabytes of warnings. */
const SHOWN_MAX = 20;

/**
 * Drops unknown fields and reports them according to `fieldValidation`: Strict rejects the request, Warn (the default)
 * sets a Warning header, Ignore does not report them.
 */
export const withKnownFields = <T extends Draft | KubeObject>({ resource, info, response }: Exchange, object: T): T => {
  if (resource.custom) return object;
  const pruned = pruneUnknown(schemaName(object.apiVersion, object.kind), asJson(object));
  const problems = pruned.unknown.slice(0, SHOWN_MAX).map((path) => `unknown field "${path}"`);
  if (problems.length === 0) return object;
  switch (info.query.get('fieldValidation') ?? 'Warn') {
    case 'Strict': {
      const kind = resource.kind;
      throw badRequest(
        `${kind} in version "${info.version}" cannot be handled as a ${kind}: strict decoding error: ${problems.join(', ')}`,
      );
    }
    case 'Warn':
      response.setHeader(
        'warning',
        problems.map((problem) => `299 - "${problem.replaceAll('"', '\\"')}"`),
      );
      break;
  }
  return pruned.object as unknown as T;
};
