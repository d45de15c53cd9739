import { PATTERN_EXTRAS_METADATA, PATTERN_METADATA } from '@nestjs/microservices/constants.js';
import { taskPattern, type TaskPolicy } from '../jetstream/decorators.js';
import type { TaskHandler } from '../jetstream/task.runner.js';

export interface Handler {
  readonly policy: TaskPolicy;
  readonly handle: TaskHandler;
}

type Method = (this: object, ...args: readonly unknown[]) => ReturnType<TaskHandler>;

const methodsOf = (controller: object): readonly Method[] => {
  const prototype = Object.getPrototypeOf(controller) as object;
  return Object.values(Object.getOwnPropertyDescriptors(prototype)).flatMap(({ value }) =>
    typeof value === 'function' ? [value as Method] : [],
  );
};

/** The controllers' methods decorated with OnTask, by task type, as Nest finds them. */
export const handlersOf = (controllers: readonly object[]): ReadonlyMap<string, Handler> =>
  new Map(
    controllers.flatMap((controller) =>
      methodsOf(controller).flatMap((method) => {
        const patterns = (Reflect.getMetadata(PATTERN_METADATA, method) ?? []) as readonly string[];
        const { policy } = (Reflect.getMetadata(PATTERN_EXTRAS_METADATA, method) ?? {}) as { policy?: TaskPolicy };
        if (policy === undefined) return [];
        return patterns.map(
          (pattern) => [pattern, { policy, handle: (task) => method.call(controller, task) }] as const,
        );
      }),
    ),
  );

export const handlerOf = (handlers: ReadonlyMap<string, Handler>, type: string): Handler => {
  const handler = handlers.get(taskPattern(type));
  if (handler === undefined) throw new Error(`no handler for ${type}`);
  return handler;
};
