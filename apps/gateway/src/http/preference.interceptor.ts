import { Inject, Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { tap, type Observable } from 'rxjs';
import { HONOURS_WAIT } from './documented.js';
import { headerText, type HttpRequest, type HttpResponse } from './http.types.js';
import { waitSecondsOf } from './prefer.js';

/** Says in the answer which preference was honoured, and with which bound (RFC 7240). */
@Injectable()
export class PreferenceInterceptor implements NestInterceptor {
  constructor(@Inject(Reflector) private readonly reflector: Reflector) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    if (this.reflector.get<boolean | undefined>(HONOURS_WAIT, context.getHandler()) !== true) return next.handle();
    const http = context.switchToHttp();
    const seconds = waitSecondsOf(headerText(http.getRequest<HttpRequest>().headers.prefer)) ?? 0;
    return next.handle().pipe(
      tap(() => {
        const response = http.getResponse<HttpResponse>();
        if (seconds > 0) response.setHeader('Preference-Applied', `wait=${seconds}`);
        else response.removeHeader('Preference-Applied');
      }),
    );
  }
}
