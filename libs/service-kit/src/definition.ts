import type { ServiceName } from '@fairlead/contracts';
import type { AnyReconciler, Process, Projection } from '@fairlead/event-sourcing';
import type { Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { MigrationInterface } from 'typeorm';

/** Everything that makes a service this service; runService supplies the rest. */
export interface ServiceDefinition {
  readonly name: ServiceName;
  /** The composition root: where ports meet adapters. */
  readonly module: Type<unknown>;
  readonly projections: readonly Projection<never>[];
  readonly processes: readonly Process<never>[];
  /** Their processes are added by runService; their tasks are handled by methods decorated with OnTask. */
  readonly reconcilers?: readonly AnyReconciler[];
  /** TypeORM migrations of the service's own tables; the kernel's tables are added by runService. */
  readonly migrations: readonly Type<MigrationInterface>[];
  /** TypeORM entities, for queries. */
  readonly entities: readonly Type<unknown>[];
  /** How many jobs one replica works on at a time. */
  readonly jobConcurrency: number;
  /** Requests carry tokens, so beyond loopback they come by TLS, unless the configuration says otherwise. */
  readonly takesTokens?: true;
  /** Pipes, guards, documents and such of a service that serves more than its health. Called before it listens. */
  readonly configureHttp?: (app: NestExpressApplication) => void | Promise<void>;
}
