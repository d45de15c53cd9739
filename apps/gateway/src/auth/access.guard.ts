import { EVERY_NAMESPACE, refuse } from '@fairlead/contracts';
import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { HttpRequest } from '../http/http.types.js';
import { RefusalError } from '../http/refusal.error.js';
import { Incarnations } from '../namespaces/incarnations.js';
import { ACCESS, KIT_PATHS, type Access } from '../access/access.js';
import { mayEverywhere, mayIn, mayInSome, type Identity } from '../access/identity.js';
import { roleMissing } from './role.missing.js';

/** What the route asks of this request. A parameter that is repeated is no text, and the route refuses it. */
const asked = (needed: Access | undefined, { query }: HttpRequest): Access | undefined =>
  needed?.kind === 'namespace' && query['dryRun'] === 'All'
    ? { kind: 'namespace', role: needed.dryRunRole ?? needed.role }
    : needed;

/** Every request needs a token and the role that the route asks for. A route that asks for nothing is closed. */
@Injectable()
export class AccessGuard implements CanActivate {
  constructor(
    @Inject(Reflector) private readonly reflector: Reflector,
    @Inject(Incarnations) private readonly incarnations: Incarnations,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<HttpRequest>();
    const needed = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (needed?.kind === 'public' || (needed === undefined && KIT_PATHS.has(request.path))) return true;
    if (request.identity === undefined) throw new RefusalError(refuse('auth.token-missing'));
    const { identity } = request;
    const namespace = request.params['namespace'] ?? EVERY_NAMESPACE;
    this.requireRole(identity, asked(needed, request), namespace);
    // What changes something, or opens a cluster, is judged by the log: tables may be late to show that the namespace is another one.
    const isByLog = needed?.kind === 'namespace' && needed.role !== 'viewer';
    if (isByLog && !mayEverywhere(identity, needed.role)) await this.incarnations.visibleAfter(namespace, identity);
    return true;
  }

  private requireRole(identity: Identity, needed: Access | undefined, namespace: string): void {
    switch (needed?.kind) {
      case 'public':
      case 'authenticated':
        return;
      case 'namespace':
        if (mayIn(identity, needed.role, namespace)) return;
        throw new RefusalError(roleMissing(needed.role, namespace));
      case 'some-namespace':
        if (mayInSome(identity, needed.role)) return;
        throw new RefusalError(roleMissing(needed.role, EVERY_NAMESPACE));
      case 'everywhere':
        if (mayEverywhere(identity, needed.role)) return;
        throw new RefusalError(roleMissing(needed.role, EVERY_NAMESPACE));
      case undefined:
        throw new Error('the route has no access decorator');
    }
  }
}
