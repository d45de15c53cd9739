import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { HONOURS_WAIT } from '../http/documented.js';
import { headerText, type HttpRequest, type HttpResponse } from '../http/http.types.js';
import { waitSecondsOf } from '../http/prefer.js';
import { recordingOf } from '../http/recording.js';
import { DiskReserve } from './disk.reserve.js';
import { RequestLimits } from './request.limits.js';
import { TokenSlots } from './token.slots.js';

const bodyBytesOf = ({ headers }: HttpRequest): number | undefined =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : undefined;

/** Whether the answer may come later than the command. A dry run waits for its plan without being asked to. */
const mayWait = ({ headers, query }: HttpRequest): boolean =>
  (waitSecondsOf(headerText(headers.prefer)) ?? 0) > 0 || query['dryRun'] === 'true';

/** Runs after the role was checked: without a role in a namespace, a token cannot use up its limit. */
@Injectable()
export class LimitsGuard implements CanActivate {
  constructor(
    @Inject(Reflector) private readonly reflector: Reflector,
    @Inject(RequestLimits) private readonly limits: RequestLimits,
    @Inject(TokenSlots) private readonly slots: TokenSlots,
    @Inject(DiskReserve) private readonly reserve: DiskReserve,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<HttpRequest>();
    const { identity, path } = request;
    if (identity === undefined) return true; // Public, as the guard before has found.
    const records = recordingOf(this.reflector, context.getHandler(), path);
    this.limits.take(identity, request.params['namespace'], { records, bodyBytes: bodyBytesOf(request) });
    this.reserve.check(records);
    const waits = this.reflector.get<boolean | undefined>(HONOURS_WAIT, context.getHandler()) === true;
    if (waits && mayWait(request))
      this.slots.take('waits', identity.tokenId, context.switchToHttp().getResponse<HttpResponse>());
    return true;
  }
}
