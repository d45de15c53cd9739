import { EVERY_NAMESPACE, refuse } from '@fairlead/contracts';
import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { HttpRequest } from '../http/http.types.js';
import { Refused } from '../http/refused.js';
import { ACCESS, KIT_PATHS, type Access } from './access.js';
import { FailureLimit } from './failures.limit.js';
import { mayEverywhere, mayIn, type Identity } from './identity.js';
import { TokenStore } from './tokens.store.js';
import { hashOf } from './tokens.js';

const BEARER = /^Bearer +([^ ]+)$/i;

const tokenOf = (request: HttpRequest): string => {
  const token = BEARER.exec(request.headers.authorization ?? '')?.[1];
  if (token === undefined) throw new Refused(refuse('auth.token-missing'));
  return token;
};

/** Nobody gets further without a token and the role that the route asks for. A route that asks for nothing is closed. */
@Injectable()
export class AccessGuard implements CanActivate {
  private readonly limit = new FailureLimit();

  constructor(
    @Inject(Reflector) private readonly reflector: Reflector,
    @Inject(TokenStore) private readonly tokens: TokenStore,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<HttpRequest>();
    const needed = this.reflector.getAllAndOverride<Access | undefined>(ACCESS, [
      context.getHandler(),
      context.getClass(),
    ]);
    if (needed?.kind === 'public' || (needed === undefined && KIT_PATHS.has(request.path))) return true;
    const identity = await this.identify(request);
    request.identity = identity;
    this.requireRole(identity, needed, request.params['namespace'] ?? EVERY_NAMESPACE);
    return true;
  }

  private async identify(request: HttpRequest): Promise<Identity> {
    const token = tokenOf(request);
    const hash = hashOf(token).toString('base64');
    const address = request.ip ?? '';
    const seconds = this.limit.waitSeconds(address, hash);
    if (seconds > 0) throw new Refused(refuse('auth.too-many-failures', { address, seconds }));
    const identity = await this.tokens.identify(token);
    if (identity === undefined) {
      this.limit.failed(address, hash);
      throw new Refused(refuse('auth.token-unknown'));
    }
    this.limit.succeeded(hash);
    return identity;
  }

  private requireRole(identity: Identity, needed: Access | undefined, namespace: string): void {
    switch (needed?.kind) {
      case 'public':
      case 'authenticated':
        return;
      case 'namespace':
        if (mayIn(identity, needed.role, namespace)) return;
        throw new Refused(refuse('auth.role-missing', { role: needed.role, namespace }));
      case 'everywhere':
        if (mayEverywhere(identity, needed.role)) return;
        throw new Refused(refuse('auth.role-missing', { role: needed.role, namespace: EVERY_NAMESPACE }));
      case undefined:
        throw new Error('the route has no access decorator');
    }
  }
}
