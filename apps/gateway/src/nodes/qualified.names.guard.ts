import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { HttpRequest } from '../http/http.types.js';
import { NodeQueries } from './nodes.queries.js';
import { isQualified, plainName } from './qualified.names.js';

interface Selected {
  readonly nodes: unknown[];
}

/** Of a request that selects nodes by their names. */
const selectedIn = ({ body }: HttpRequest): Selected | undefined => {
  const { select } = (typeof body === 'object' && body !== null ? body : {}) as { readonly select?: unknown };
  const { nodes } = (typeof select === 'object' && select !== null ? select : {}) as { readonly nodes?: unknown };
  return Array.isArray(nodes) && nodes.some(isQualified) ? { nodes } : undefined;
};

/**
 * Nodes can be named by provider, pool and name, too: what follows sees their names only. A name that is of no node
 * stays as it is, and is refused as unknown.
 */
@Injectable()
export class QualifiedNamesGuard implements CanActivate {
  constructor(@Inject(NodeQueries) private readonly nodes: NodeQueries) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<HttpRequest>();
    const { namespace, cluster, node } = request.params;
    if (namespace === undefined || cluster === undefined) return true;
    const selected = selectedIn(request);
    if (!isQualified(node) && selected === undefined) return true;
    const known = await this.nodes.all(namespace, cluster);
    if (isQualified(node)) (request.params as Record<string, string>)['node'] = plainName(node, known);
    selected?.nodes.forEach((name, at, all) => {
      if (isQualified(name)) all[at] = plainName(name, known);
    });
    return true;
  }
}
