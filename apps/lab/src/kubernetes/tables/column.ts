import type { Json } from '../objects/json.js';
import type { KubeObject } from '../objects/kube.object.js';
import { ageSince } from './age.js';

/** One column of a table. Priority 1 is shown only by `-o wide`. */
export interface Column<T extends KubeObject = KubeObject> {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly priority: 0 | 1;
  readonly cell: (object: T, nowMs: number) => Json;
}

export const text = <T extends KubeObject>(
  name: string,
  cell: (object: T, nowMs: number) => string | undefined,
): Column<T> => ({
  name,
  type: 'string',
  priority: 0,
  cell: (object, nowMs) => cell(object, nowMs) ?? '<none>',
});

export const count = <T extends KubeObject>(name: string, cell: (object: T) => number | undefined): Column<T> => ({
  name,
  type: 'integer',
  priority: 0,
  cell: (object) => cell(object) ?? 0,
});

export const wide = <T extends KubeObject>(column: Column<T>): Column<T> => ({ ...column, priority: 1 });

export const NAME: Column = text('Name', ({ metadata }) => metadata.name);
export const AGE: Column = text('Age', ({ metadata }, nowMs) => ageSince(metadata.creationTimestamp, nowMs));
