import { handoverWords, isSource, refuse } from '@fairlead/contracts';
import { LogOwnership } from '@fairlead/service-kit';
import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import type { HttpRequest } from '../http/http.types.js';
import { Refused } from '../http/refused.js';

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD']);

/** An installation that was handed over answers reads only. Its log takes no event, whatever is let through here. */
@Injectable()
export class HandoverGuard implements CanActivate {
  constructor(@Inject(LogOwnership) private readonly ownership: Pick<LogOwnership, 'record'>) {}

  canActivate(context: ExecutionContext): boolean {
    const { method } = context.switchToHttp().getRequest<HttpRequest>();
    const { record } = this.ownership;
    if (READS.has(method) || !isSource(record)) return true;
    throw new Refused(refuse('installation.handed-over', { detail: handoverWords(record) }));
  }
}
