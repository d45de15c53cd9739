import type { RefusalCode } from '@fairlead/contracts';
import { applyDecorators, Get } from '@nestjs/common';
import type { z } from 'zod';
import { RoleInNamespace } from '../access/access.js';
import { Documented, type Documentation } from './documented.js';

/** What every route to something in a namespace may refuse, and to something of a cluster. */
export const IN_NAMESPACE = ['namespace.unknown'] as const satisfies readonly RefusalCode[];
export const OF_CLUSTER = [...IN_NAMESPACE, 'cluster.unknown'] as const satisfies readonly RefusalCode[];

/** Of reads that wait for minSeq. */
export const AWAITED = ['wait.seq-ahead', 'wait.too-long'] as const satisfies readonly RefusalCode[];

interface Reading extends Pick<Documentation, 'id' | 'tag' | 'summary' | 'description'> {
  readonly answer: string;
  readonly schema: z.ZodType;
  /** Those of where it is, and its own. */
  readonly refusals: readonly RefusalCode[];
}

const reading = (path: string, { answer, schema, refusals, ...documentation }: Reading): MethodDecorator =>
  applyDecorators(
    Get(path),
    RoleInNamespace('viewer'),
    Documented({
      ...{ ...documentation, records: 'nothing', refusals },
      answers: [{ status: 200, description: answer, schema }],
    }),
  );

/** Viewers of the namespace read one thing, which may wait for minSeq. */
export const ReadRoute = (path: string, route: Reading): MethodDecorator =>
  reading(path, { ...route, refusals: [...route.refusals, ...AWAITED] });

/** Viewers of the namespace read a list, page by page, which may wait for minSeq. */
export const ListRoute = (path: string, route: Reading): MethodDecorator =>
  reading(path, { ...route, refusals: [...route.refusals, 'list.continue-invalid', ...AWAITED] });
