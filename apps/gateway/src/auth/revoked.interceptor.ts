import type { Refusal } from '@fairlead/contracts';
import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { map, type Observable } from 'rxjs';
import type { HttpRequest } from '../http/http.types.js';
import { RefusalError } from '../http/refusal.error.js';

/** Answers nothing to a token that ended or was revoked while the answer was made. What the request recorded stays recorded. */
@Injectable()
export class RevokedInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<HttpRequest>();
    return next.handle().pipe(
      map((body: unknown) => {
        if (request.tokenEnded?.aborted === true) throw new RefusalError(request.tokenEnded.reason as Refusal);
        return body;
      }),
    );
  }
}
