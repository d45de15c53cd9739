import { EVENTS, REFUSALS } from '@fairlead/contracts';
import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import Ajv from 'ajv';
import addFormats from 'ajv-formats';
import { asyncApiDocument } from '../../../../tools/generate/asyncapi.mjs';
import { describeApi } from './describe.js';

const docs = new URL('../../../../docs/', import.meta.url);
const read = (name: string): string => readFileSync(new URL(name, docs), 'utf8');

interface Shared {
  readonly description: string;
  readonly $ref?: string;
}
interface Operation {
  readonly operationId?: string;
  readonly responses: Readonly<Record<string, Shared>>;
}
interface Document {
  readonly [member: string]: unknown;
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly responses: Readonly<Record<string, Shared>> };
}

describe('the OpenAPI document', () => {
  let document: Document;
  beforeAll(async () => {
    document = JSON.parse(JSON.stringify(await describeApi())) as Document;
  });

  const operations = (): readonly Operation[] => Object.values(document.paths).flatMap((path) => Object.values(path));

  it('describes no refusal and no parameter twice', () => {
    const inline = operations().flatMap(({ operationId, responses }) =>
      Object.entries(responses).flatMap(([status, { $ref }]) =>
        Number(status) >= 400 && $ref === undefined ? [`${operationId} ${status}`] : [],
      ),
    );
    expect(inline).toEqual([]);
    const shared = Object.values(document.components).flatMap((part) =>
      Object.values(part as object).map((one) => JSON.stringify(one)),
    );
    expect(shared.length - new Set(shared).size).toBe(0);
  });

  it('is valid OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(document);
    expect(errors ?? []).toEqual([]);
    expect([valid, document.openapi]).toEqual([true, '3.1.0']);
  });

  it('has each route once, under an id of its own', () => {
    const ids = operations().map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(Object.keys(document.paths).filter((path) => path.startsWith('/ladybug'))).toEqual([]);
  });

  it('has every route and every query of CB-Ladybug', () => {
    const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method} ${path}`),
    );
    expect(routes).toEqual(
      expect.arrayContaining([
        'get /mcir/connections/{connection}/specs',
        'get /ns/{namespace}/clusters',
        'post /ns/{namespace}/clusters',
        'get /ns/{namespace}/clusters/{cluster}',
        'delete /ns/{namespace}/clusters/{cluster}',
        'get /ns/{namespace}/clusters/{cluster}/nodes',
        'post /ns/{namespace}/clusters/{cluster}/nodes',
        'get /ns/{namespace}/clusters/{cluster}/nodes/{node}',
        'delete /ns/{namespace}/clusters/{cluster}/nodes/{node}',
      ]),
    );
  });

  it('names only refusals of the catalogue, each under its own status', () => {
    for (const { operationId, responses } of operations()) {
      for (const [status, response] of Object.entries(responses).filter(([code]) => Number(code) >= 400)) {
        const { description } = document.components.responses[response.$ref?.split('/').at(-1) ?? ''] ?? response;
        const statuses = description.split(', ').map((code) => REFUSALS[code as keyof typeof REFUSALS]?.status);
        expect([operationId, ...new Set(statuses)]).toEqual([operationId, Number(status)]);
      }
    }
  });
});

describe('the AsyncAPI document', () => {
  const document = asyncApiDocument('1');

  it('is valid AsyncAPI 3', () => {
    const schema = createRequire(import.meta.url)('@asyncapi/specs/schemas/3.0.0-without-$id.json') as object;
    const ajv = addFormats.default(new Ajv.default({ strict: false, allErrors: true }));
    const validate = ajv.compile(schema);
    expect([validate(document), validate.errors ?? []]).toEqual([true, []]);
  });

  it('has the envelope once, and refers to it in every message', () => {
    const { schemas, messages } = document.components;
    expect(Object.keys(schemas)).toEqual(['Envelope']);
    expect(JSON.stringify(messages).match(/schemas\/Envelope/gu)).toHaveLength(Object.keys(EVENTS).length);
  });

  it('has a channel and a writer for every event', () => {
    expect(Object.keys(document.channels)).toEqual(Object.keys(EVENTS));
    expect(Object.keys(document.operations)).toHaveLength(Object.keys(EVENTS).length);
  });
});

describe('the references', () => {
  it('list every event and every refusal, and none that no longer exists', () => {
    const events = [...read('events.md').matchAll(/^### (\w+)$/gm)].map(([, type]) => type);
    expect([...events].sort()).toEqual(Object.keys(EVENTS).sort());
    const refusals = [...read('refusals.md').matchAll(/^\| `([a-z.-]+)`/gm)].map(([, code]) => code);
    expect(refusals).toEqual(Object.keys(REFUSALS).sort());
  });
});
