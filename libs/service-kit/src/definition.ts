import type { ServiceName } from '@fairlead/contracts';
import type { AnyReconciler, Projection } from '@fairlead/event-sourcing';
import type { Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { MigrationInterface } from 'typeorm';

/**
 * Everything that is specific to one service; the kit supplies the rest, and does not know the types of its rows and
 * states.
 */
export interface ServiceDefinition {
  readonly name: ServiceName;
  /** The composition root: where ports meet adapters. */
  readonly module: Type<unknown>;
  readonly projections: readonly Projection<unknown>[];
  /** Their tasks are handled by methods decorated with OnTask. */
  readonly reconcilers: readonly AnyReconciler[];
  /** TypeORM migrations of the service's own tables; the kit adds those of the kernel. */
  readonly migrations: readonly Type<MigrationInterface>[];
  /** Maximum concurrent tasks per replica. */
  readonly taskConcurrency: number;
  /** Maximum concurrent tasks per concurrency group (see Task.groups). Absent: the service's tasks have no groups. */
  readonly groupLimit?: number;
  /**
   * Milliseconds. Absent: short, because a step of a new cluster waits for most of its commits. See
   * PartitionStoreOptions.
   */
  readonly commitsWaitMs?: number;
  /** Requests carry tokens, so beyond loopback they require TLS, unless configured otherwise. */
  readonly takesTokens?: true;
  /** The service has no side effects: it continues to answer reads after its installation was handed over. */
  readonly answersReads?: true;
  /** Configures pipes, guards and documents of a service that serves more than its health. Called before it listens. */
  readonly configureHttp?: (app: NestExpressApplication) => void | Promise<void>;
}

type Parts = Pick<ServiceDefinition, 'name' | 'module' | 'taskConcurrency'> & Partial<ServiceDefinition>;

/** A service definition with defaults for everything that `parts` omits. */
export const defineService = (parts: Parts): ServiceDefinition => ({
  projections: [],
  reconcilers: [],
  migrations: [],
  ...parts,
});
