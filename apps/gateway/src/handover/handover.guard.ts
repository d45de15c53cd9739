import { handoverWords, isSource, refuse } from '@fairlead/contracts';
import { LogOwnership } from '@fairlead/service-kit';
import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { RECORDS, type Recording } from '../http/documented.js';
import { RefusalError } from '../http/refusal.error.js';

/** An installation that was handed over answers only what records nothing. Its log takes no event, whatever is let through here. */
@Injectable()
export class HandoverGuard implements CanActivate {
  constructor(
    @Inject(LogOwnership) private readonly ownership: Pick<LogOwnership, 'record'>,
    @Inject(Reflector) private readonly reflector: Reflector,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const records = this.reflector.get<Recording | undefined>(RECORDS, context.getHandler()) ?? 'nothing';
    const { record } = this.ownership;
    if (records === 'nothing' || !isSource(record)) return true;
    throw new RefusalError(refuse('installation.handed-over', { detail: handoverWords(record) }));
  }
}
