import type { z } from 'zod';
import type { ProviderOperation } from '../../providers/provider.ports.js';
import type { CloudSession, Service } from './openstack.session.js';

/** Calls of one operation to one service. */
export class CloudCalls {
  constructor(
    readonly session: CloudSession,
    private readonly of: {
      readonly service: Service;
      readonly operation: ProviderOperation;
      readonly signal: AbortSignal;
      /** Absent: the region of the connection. */
      readonly region?: string;
    },
  ) {}

  get signal(): AbortSignal {
    return this.of.signal;
  }

  get<Answer>(path: string, answer: z.ZodType<Answer>): Promise<Answer> {
    return this.session.ask({ ...this.of, method: 'GET', path }, answer);
  }

  find<Answer>(path: string, answer: z.ZodType<Answer>): Promise<Answer | undefined> {
    return this.session.find({ ...this.of, method: 'GET', path }, answer);
  }

  list<Item extends { readonly id: string }>(
    path: string,
    key: string,
    item: z.ZodType<Item>,
  ): Promise<readonly Item[]> {
    return this.session.list({ ...this.of, path }, key, item);
  }

  post<Answer>(path: string, body: unknown, answer: z.ZodType<Answer>): Promise<Answer> {
    return this.session.ask({ ...this.of, method: 'POST', path, body }, answer);
  }

  put<Answer>(path: string, body: unknown, answer: z.ZodType<Answer>): Promise<Answer> {
    return this.session.ask({ ...this.of, method: 'PUT', path, body }, answer);
  }

  delete(path: string): Promise<void> {
    return this.session.delete({ ...this.of, path });
  }

  /** Creates a permanent failure, which is not retried. */
  refusal(message: string): Error {
    return this.session.failure(this.of.operation, message, false);
  }

  failure(message: string): Error {
    return this.session.failure(this.of.operation, message);
  }
}
