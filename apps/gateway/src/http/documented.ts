import { ErrorView, REFUSALS, type RefusalCode } from '@fairlead/contracts';
import { applyDecorators, SetMetadata } from '@nestjs/common';
import { ApiHeader, ApiOperation, ApiResponse } from '@nestjs/swagger';
import type { z } from 'zod';

export interface DocumentedResponse {
  readonly status: 200 | 201 | 202;
  readonly description: string;
  readonly schema?: z.ZodType;
  /** For answers that are no JSON. */
  readonly contentType?: string;
}

/**
 * What a route adds to the log: `nothing`; that something was read (`access`); `work` that it begins or changes; or an `end` of work, which
 * goes on with a full disk. Limits follow from it.
 */
export type Recording = 'nothing' | 'access' | 'work' | 'end';

export interface Documentation {
  /** Name of the operation in the generated client. */
  readonly id: string;
  readonly tag: string;
  readonly records: Recording;
  readonly summary: string;
  readonly description?: string;
  readonly answers: readonly DocumentedResponse[];
  readonly refusals?: readonly RefusalCode[];
}

export const REFUSES = 'fairlead:refuses';
export const RECORDS = 'fairlead:records';
/** Schemas of the answers of a route. */
export const ANSWERS = 'fairlead:answers';

/** What every authenticated route may answer; another method than its own is answered with 405 `route.method`. */
const COMMON: readonly RefusalCode[] = [
  'request.malformed',
  'request.unknown-field',
  'request.more-faults',
  'request.text-unstorable',
  'request.media-type',
  'request.too-large',
  'request.headers-too-large',
  'request.answer-too-large',
  'auth.token-missing',
  'auth.token-unknown',
  'auth.role-missing',
  'auth.too-many-failures',
  'token.too-many-requests',
  'namespace.too-many-requests',
  'system.unavailable',
  'system.permission-missing',
  'system.secret-unreadable',
  'system.internal',
  // Only of commands.
  'token.too-many-waits',
  'log.disk-reserve',
  'installation.handed-over',
];

const byStatus = (codes: readonly RefusalCode[]): ReadonlyMap<number, readonly RefusalCode[]> => {
  const groups = new Map<number, RefusalCode[]>();
  for (const code of codes) {
    const { status } = REFUSALS[code];
    groups.set(status, [...(groups.get(status) ?? []), code]);
  }
  return groups;
};

const READ_STATUS = 200;

const COMMAND_HEADERS = {
  Location: { description: 'Where what was asked for can be seen', schema: { type: 'string' } },
  'X-Fairlead-Seq': {
    description: 'Sequence of the request in the log; give it to a read as minSeq to see the request in it',
    schema: { type: 'string' },
  },
} as const;

const answerDecorator = ({ status, description, schema, contentType }: DocumentedResponse): MethodDecorator => {
  if (contentType !== undefined)
    return ApiResponse({ status, description, content: { [contentType]: { schema: { type: 'string' } } } });
  return ApiResponse({
    status,
    description,
    ...(schema === undefined ? {} : { standardSchema: schema }),
    ...(status === READ_STATUS ? {} : { headers: COMMAND_HEADERS }),
  });
};

/** Describes a route for OpenAPI: what it answers, and each refusal that it may give. */
export const Documented = (documentation: Documentation): MethodDecorator => {
  const { id, tag, records, summary, description, answers, refusals = [] } = documentation;
  const codes = [...COMMON, ...refusals];
  return applyDecorators(
    SetMetadata(REFUSES, codes),
    SetMetadata(RECORDS, records),
    SetMetadata(
      ANSWERS,
      answers.flatMap(({ schema }) => schema ?? []),
    ),
    ApiOperation({ operationId: id, summary, tags: [tag], ...(description === undefined ? {} : { description }) }),
    ...answers.map(answerDecorator),
    ...[...byStatus(codes)].map(([status, group]) =>
      ApiResponse({ status, description: group.join(', '), standardSchema: ErrorView }),
    ),
  );
};

const PREFER = ApiHeader({
  name: 'Prefer',
  required: false,
  description:
    'wait=N: answer when it is over, or after N seconds (at most 600). Preference-Applied in the answer states the bound',
  schema: { type: 'string' },
});

export const HONOURS_WAIT = 'fairlead:honours-wait';

/** A route whose answer may wait for an end, and which is not repeated under a key. */
export const WaitHeader = (): MethodDecorator => applyDecorators(PREFER, SetMetadata(HONOURS_WAIT, true));

/** Headers that a command understands; one that `ends` later than its answer can be waited for. */
export const CommandHeaders = ({ ends }: { readonly ends: boolean }): MethodDecorator =>
  applyDecorators(
    ...(ends ? [PREFER, SetMetadata(HONOURS_WAIT, true)] : []),
    ApiHeader({
      name: 'Idempotency-Key',
      required: false,
      description: 'For 24 hours a repetition with the same key gets the first answer and does nothing',
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    }),
  );

/** CB-Ladybug's base path; everything is served there as well. */
export const LADYBUG = 'ladybug';

export const isBelowLadybug = (path: string): boolean => path === `/${LADYBUG}` || path.startsWith(`/${LADYBUG}/`);

export const bothBases = (path: string): string[] => [path, `${LADYBUG}/${path}`];
