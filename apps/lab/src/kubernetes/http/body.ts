import { wordsOf } from '@fairlead/contracts';
import { parseJson, parseYaml } from '@fairlead/parsers';
import type { IncomingMessage } from 'node:http';
import { ApiError, badRequest, tooLarge, unsupportedMediaType } from '../errors/api.error.js';
import { isJsonObject, type Json, type JsonObject } from '../objects/json.js';
import type { Draft } from '../objects/kube.object.js';
import { decodeKubernetesProtobuf } from '../schema/protobuf.decode.js';
import { parseRange } from './negotiation.js';

/** The API server's request size limit (apiserver, MaxRequestBodyBytes). */
const BODY_MAX_BYTES = 3 * 1024 * 1024;

const LIMITS = { lengthMax: BODY_MAX_BYTES };

export interface RequestBody {
  readonly mediaType: string;
  readonly bytes: Buffer;
}

export const readBody = async (request: IncomingMessage): Promise<RequestBody> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > BODY_MAX_BYTES) throw tooLarge(BODY_MAX_BYTES);
    chunks.push(chunk);
  }
  return {
    mediaType: parseRange(request.headers['content-type'] ?? 'application/json').type,
    bytes: Buffer.concat(chunks),
  };
};

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const ACCEPTED = ['application/json', 'application/yaml', PROTOBUF];

/** The JSON value of a body in JSON, YAML or Kubernetes' protobuf. */
export const parseBody = ({ mediaType, bytes }: RequestBody): Json => {
  const yaml = mediaType.endsWith('yaml');
  if (!yaml && !mediaType.includes('json') && mediaType !== PROTOBUF) throw unsupportedMediaType(ACCEPTED);
  try {
    if (mediaType === PROTOBUF) return decodeKubernetesProtobuf(bytes);
    const text = bytes.toString('utf8');
    return (yaml ? yamlIn(text) : parseJson(text, LIMITS)) as Json;
  } catch (error) {
    throw badRequest(`the body of the request could not be parsed: ${wordsOf(error)}`);
  }
};

/** JSON is valid YAML, most clients send it, and it parses a hundred times faster. */
const yamlIn = (text: string): unknown => {
  try {
    if (text.startsWith('{')) return parseJson(text, LIMITS);
  } catch {
    // The body is a YAML flow mapping.
  }
  return parseYaml(text, LIMITS);
};

/** Parses the body as an API object of the expected kind; apiVersion and kind may be omitted. */
export const parseObject = (
  body: RequestBody,
  expected: { readonly apiVersions: readonly string[]; readonly kind: string },
): Draft => {
  const value = parseBody(body);
  if (!isJsonObject(value)) throw badRequest('the body of the request is not an object');
  const { apiVersion = expected.apiVersions[0], kind = expected.kind, metadata = {} } = value;
  if (kind !== expected.kind || typeof apiVersion !== 'string' || !expected.apiVersions.includes(apiVersion)) {
    const desired = `${expected.apiVersions[0]}, Kind=${expected.kind}`;
    throw badRequest(
      `the object provided is unrecognized (must be of type ${desired}): ${String(apiVersion)}, Kind=${String(kind)}`,
    );
  }
  if (!isJsonObject(metadata)) throw badRequest('metadata is not an object');
  return { ...value, apiVersion, kind, metadata: cleanMetadata(metadata) } as unknown as Draft;
};

const TEXT_MEMBERS = ['name', 'generateName', 'namespace', 'uid', 'resourceVersion'];

/** Validates metadata for the rest of the simulation: strings are strings, and nulls are removed. */
const cleanMetadata = (metadata: JsonObject): JsonObject => {
  const wrong = TEXT_MEMBERS.find((key) => !['string', 'undefined'].includes(typeof (metadata[key] ?? undefined)));
  if (wrong !== undefined) throw new ApiError(400, 'BadRequest', `metadata.${wrong} is not a string`);
  for (const key of ['labels', 'annotations']) {
    const map = metadata[key] ?? {};
    if (!isJsonObject(map) || Object.values(map).some((value) => typeof value !== 'string')) {
      throw badRequest(`metadata.${key} is not a map of strings`);
    }
  }
  return Object.fromEntries(Object.entries(metadata).filter(([, value]) => value !== null));
};

/** Parses DeleteOptions; the body may be empty. */
export const parseOptional = (body: RequestBody): JsonObject => {
  if (body.bytes.length === 0) return {};
  const value = parseBody(body);
  return isJsonObject(value) ? value : {};
};
