import type { Draft, KubeObject } from '../objects/kube.object.js';
import type { Resource, ResourceDefinition } from '../resources/resource.js';

/**
 * What a planner decided. A plan is data: the runner carries it out in order. `why` is for people; where Kubernetes itself would say it in an
 * Event, there is an `event` operation with its words.
 */
export type Operation =
  | { readonly do: 'create'; readonly resource: ResourceDefinition; readonly draft: Draft; readonly why: string }
  | { readonly do: 'replace'; readonly resource: ResourceDefinition; readonly object: KubeObject; readonly why: string }
  | {
      readonly do: 'delete';
      readonly resource: ResourceDefinition;
      readonly object: KubeObject;
      readonly graceSeconds?: number;
      /** Its own dependents go before it. */
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
  /** Take an object out for good, whatever its finalizers say: the last step of deleting a namespace. */
  | { readonly do: 'finalize'; readonly resource: ResourceDefinition; readonly object: KubeObject }
  /** Plan again at this time, even if nothing changes until then. */
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

/** Deletes an object after its own dependents, as part of deleting its owner so. */
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
