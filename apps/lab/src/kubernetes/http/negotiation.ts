import { notAcceptable } from '../errors/api.error.js';

/** The response format that the client requests. */
export interface AnswerForm {
  readonly encoding: 'json' | 'yaml';
  readonly as: 'object' | 'table' | 'metadata';
  /** Version of meta.k8s.io for tables and partial metadata. */
  readonly metaVersion: string;
}

const PLAIN: AnswerForm = { encoding: 'json', as: 'object', metaVersion: 'v1' };
const JSON_RANGES = ['application/json', 'application/*', '*/*', 'text/plain', 'text/*'];

/** Returns the first supported format of the Accept header. @throws 406 if there is none (protobuf only). */
export const answerForm = (accept: string | undefined): AnswerForm => {
  const form = (accept ?? '*/*')
    .split(',')
    .map(parseRange)
    .map(formOf)
    .find((found) => found !== undefined);
  if (form === undefined) throw notAcceptable();
  return form;
};

interface MediaRange {
  readonly type: string;
  readonly parameters: ReadonlyMap<string, string>;
}

export const parseRange = (text: string): MediaRange => {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim());
  return { type: type.toLowerCase(), parameters: new Map(parameters.map((part) => splitPair(part))) };
};

const splitPair = (part: string): readonly [string, string] => {
  const at = part.indexOf('=');
  return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)];
};

const formOf = ({ type, parameters }: MediaRange): AnswerForm | undefined => {
  const encoding = JSON_RANGES.includes(type) ? 'json' : type === 'application/yaml' ? 'yaml' : undefined;
  if (encoding === undefined) return undefined;
  const as = parameters.get('as');
  if (as === undefined) return { ...PLAIN, encoding };
  const metaVersion = parameters.get('v') ?? 'v1';
  if (parameters.get('g') !== 'meta.k8s.io' || !['v1', 'v1beta1'].includes(metaVersion)) return undefined;
  if (as === 'Table') return { encoding, as: 'table', metaVersion };
  return as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList'
    ? { encoding, as: 'metadata', metaVersion }
    : undefined;
};
