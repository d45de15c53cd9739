import type { Draft, KubeObject } from '../objects/kube.object.js';
import type { Resource, ResourceDefinition } from '../resources/resource.js';

/**
 * A planned operation. A plan is data that the runner executes in order. `why` is for people; where Kubernetes itself
 * would emit an Event, there is an `event` operation with its message.
 */
export type Operation =
  | { readonly do: 'create'; readonly resource: ResourceDefinition; readonly draft: Draft; readonly why: string }
  | { readonly do: 'replace'; readonly resource: ResourceDefinition; readonly object: KubeObject; readonly why: string }
  | {
      readonly do: 'delete';
      readonly resource: ResourceDefinition;
      readonly object: KubeObject;
      readonly graceSeconds?: number;
      /** Delete its dependents first. */
      readonly foreground?: boolean;
      readonly why: string;
    }
  | {
      readonly do: 'event';
      readonly about: KubeObject;
      readonly type: 'Normal' | 'Warning';
      readonly reason: string;
      readonly message: string;
    }
  /** Removes an object regardless of its finalizers: the last step of deleting a namespace. */
  | { readonly do: 'finalize'; readonly resource: ResourceDefinition; readonly object: KubeObject }
  /** Plan again at this time, even if nothing changes before. */
  | { readonly do: 'again'; readonly atMs: number };

export const create = <T extends KubeObject>(resource: Resource<T>, draft: Draft<T>, why: string): Operation => ({
  do: 'create',
  resource,
  draft: draft as unknown as Draft,
  why,
});

export const replace = <T extends KubeObject>(resource: Resource<T>, object: T, why: string): Operation => ({
  do: 'replace',
  resource,
  object,
  why,
});

export const remove = <T extends KubeObject>(
  resource: Resource<T>,
  object: T,
  why: string,
  graceSeconds?: number,
): Operation => ({
  do: 'delete',
  resource,
  object,
  why,
  ...(graceSeconds === undefined ? {} : { graceSeconds }),
});

/** Deletes an object after its dependents, as part of a foreground deletion of its owner. */
export const removeInForeground = <T extends KubeObject>(resource: Resource<T>, object: T, why: string): Operation => ({
  do: 'delete',
  resource,
  object,
  foreground: true,
  why,
});

export const event = (
  about: KubeObject,
  reason: string,
  message: string,
  type: 'Normal' | 'Warning' = 'Normal',
): Operation => ({
  do: 'event',
  about,
  type,
  reason,
  message,
});

export const again = (atMs: number): Operation => ({ do: 'again', atMs });
