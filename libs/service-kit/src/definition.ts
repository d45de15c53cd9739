import type { ServiceName } from '@fairlead/contracts';
import type { AnyReconciler, Projection } from '@fairlead/event-sourcing';
import type { Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { MigrationInterface } from 'typeorm';

/** Everything that makes a service this service; the kit supplies the rest. Whose rows and states they are is the service's own business. */
export interface ServiceDefinition {
  readonly name: ServiceName;
  /** The composition root: where ports meet adapters. */
  readonly module: Type<unknown>;
  readonly projections: readonly Projection<unknown>[];
  /** Their tasks are handled by methods decorated with OnTask. */
  readonly reconcilers: readonly AnyReconciler[];
  /** TypeORM migrations of the service's own tables; the kit adds those of the kernel's tables. */
  readonly migrations: readonly Type<MigrationInterface>[];
  /** How many tasks one replica works on at a time. */
  readonly jobConcurrency: number;
  /** How many of them may belong to the same concurrency group (see Task.groups). Absent: no task of this service has one. */
  readonly groupLimit?: number;
  /** Milliseconds. Absent: short, since a step of a new cluster waits for most of its commits. See PartitionStoreOptions. */
  readonly commitsWaitMs?: number;
  /** Requests carry tokens, so beyond loopback they require TLS, unless the configuration says otherwise. */
  readonly takesTokens?: true;
  /** It acts on nothing: it goes on answering reads when its installation was handed over. */
  readonly answersReads?: true;
  /** Pipes, guards, documents and such of a service that serves more than its health. Called before it listens. */
  readonly configureHttp?: (app: NestExpressApplication) => void | Promise<void>;
}

type Parts = Pick<ServiceDefinition, 'name' | 'module' | 'jobConcurrency'> & Partial<ServiceDefinition>;

/** The definition of a service that has none of what `parts` leaves out. */
export const defineService = (parts: Parts): ServiceDefinition => ({
  projections: [],
  reconcilers: [],
  migrations: [],
  ...parts,
});
