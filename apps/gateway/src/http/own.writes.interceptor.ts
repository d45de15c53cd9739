import { Inject, Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { from, mergeMap, of, type Observable } from 'rxjs';
import { LADYBUG } from './documented.js';
import type { HttpRequest } from './http.types.js';
import { OwnWrites } from './own.writes.js';
import { writesBehind } from './writes.rules.js';

const segmentsOf = (path: string): readonly string[] => {
  const segments = path.split('/').filter((segment) => segment !== '');
  return segments[0] === LADYBUG ? segments.slice(1) : segments;
};

/** Every request that is answered from our rows first waits until they show the commands that were answered before it. */
@Injectable()
export class OwnWritesInterceptor implements NestInterceptor {
  constructor(@Inject(OwnWrites) private readonly writes: OwnWrites) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { method, path } = context.switchToHttp().getRequest<HttpRequest>();
    const behind = writesBehind(method, segmentsOf(path));
    const shown = behind.length === 0 ? of(undefined) : from(this.writes.shown(behind));
    return shown.pipe(mergeMap(() => next.handle()));
  }
}
