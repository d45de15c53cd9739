import { ParseFailure, parseJsonOrUndefined, parseYaml, type ParseFailureReason } from '@fairlead/parsers';

/** kubeadm's own is 6 KiB, and 10 KiB with the longest keys in use. */
export const KUBECONFIG_BYTES_MAX = 32 * 1024;

/** Why a kubeconfig is rejected: a sentence without secrets. */
export class Unacceptable extends Error {}

/** The fields taken from a kubeconfig, unparsed: one address, and three texts in base64. */
export interface KubeconfigFields {
  readonly server: string;
  readonly ca: string;
  readonly certificate: string;
  readonly key: string;
}

/** What rejected fields would have made a client do. */
const TRICKS: Readonly<Record<string, string>> = {
  exec: 'runs a program',
  'auth-provider': 'runs a program',
  tokenFile: 'reads a file',
  'client-certificate': 'reads a file',
  'client-key': 'reads a file',
  'certificate-authority': 'reads a file',
  'proxy-url': 'sends requests elsewhere',
  'insecure-skip-tls-verify': 'believes any server',
  'tls-server-name': 'believes another server',
  as: 'acts as somebody else',
  token: 'is a credential that is not a certificate',
  username: 'is a credential that is not a certificate',
  password: 'is a credential that is not a certificate',
};

const NAME_CHARACTERS_MAX = 40;

/** An external name in a sentence: short, and without control characters. */
const shown = (name: string): string => JSON.stringify(name.slice(0, NAME_CHARACTERS_MAX));

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown, at: string, allowed: readonly string[]): Fields => {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Unacceptable(`${at} is not a map of fields`);
  const foreign = Object.keys(value).find((name) => !allowed.includes(name));
  if (foreign === undefined) return value as Fields;
  const trick = Object.hasOwn(TRICKS, foreign) ? TRICKS[foreign] : undefined;
  throw new Unacceptable(`${at} has the field ${shown(foreign)}${trick === undefined ? '' : `, which ${trick}`}`);
};

const onlyOne = (value: unknown, at: string): unknown => {
  if (!Array.isArray(value)) throw new Unacceptable(`${at} is not a list`);
  if (value.length !== 1) throw new Unacceptable(`${at} has ${value.length} entries, not one`);
  return value[0];
};

const textOf = (fields: Fields, name: string, at: string): string => {
  const value = fields[name];
  if (typeof value !== 'string' || value === '') throw new Unacceptable(`${at} has no ${name}`);
  return value;
};

/** The only entry of a list: its name, and its content. */
const entryOf = (whole: Fields, list: string, noun: string, allowed: readonly string[]) => {
  const at = `${list}[0]`;
  const entry = fieldsOf(onlyOne(whole[list], list), at, ['name', noun]);
  return { name: textOf(entry, 'name', at), at: `${at}.${noun}`, of: fieldsOf(entry[noun], `${at}.${noun}`, allowed) };
};

const LIMITS = { lengthMax: KUBECONFIG_BYTES_MAX, depthMax: 16, valuesMax: 1_000 };

/**
 * Accepts plain JSON, which the platform writes, or plain YAML, which kubeadm writes: no aliases, no tags, one
 * document.
 */
const parsed = (text: string): unknown => {
  if (Buffer.byteLength(text) > KUBECONFIG_BYTES_MAX)
    throw new Unacceptable(`it is longer than ${KUBECONFIG_BYTES_MAX} bytes`);
  const json = text.startsWith('{') ? parseJsonOrUndefined(text, LIMITS) : undefined;
  if (json !== undefined) return json;
  try {
    return parseYaml(text, { ...LIMITS, scalars: 'strings' });
  } catch (error) {
    if (!(error instanceof ParseFailure)) throw error;
    throw new Unacceptable(FAULTS[error.reason] ?? 'it is not one YAML document');
  }
};

/** Without the parser's message, which quotes the text: it contains a key. */
const FAULTS: Readonly<Partial<Record<ParseFailureReason, string>>> = {
  aliases: 'it has YAML aliases',
  tags: 'it has YAML tags',
};

/** Nothing may hide in `preferences`, which kubeadm writes as an empty map. */
const checkHeader = (whole: Fields): void => {
  if (whole['apiVersion'] !== 'v1' || whole['kind'] !== 'Config')
    throw new Unacceptable('it is not of kind Config, v1');
  if (whole['preferences'] !== undefined && whole['preferences'] !== '')
    fieldsOf(whole['preferences'], 'preferences', []);
};

/**
 * The four fields taken from a kubeconfig. One with any other field, or with a choice of clusters, users or contexts,
 * is rejected entirely: the meaning of an unknown field may be known to an attacker.
 */
export const fieldsOfKubeconfig = (text: string): KubeconfigFields => {
  const whole = fieldsOf(parsed(text), 'it', [
    'apiVersion',
    'kind',
    'preferences',
    'current-context',
    'clusters',
    'contexts',
    'users',
  ]);
  checkHeader(whole);
  const cluster = entryOf(whole, 'clusters', 'cluster', ['server', 'certificate-authority-data']);
  const user = entryOf(whole, 'users', 'user', ['client-certificate-data', 'client-key-data']);
  const context = entryOf(whole, 'contexts', 'context', ['cluster', 'user']);
  if (
    whole['current-context'] !== context.name ||
    context.of['cluster'] !== cluster.name ||
    context.of['user'] !== user.name
  )
    throw new Unacceptable('its current context is not the one of its cluster and its user');
  return {
    server: textOf(cluster.of, 'server', cluster.at),
    ca: textOf(cluster.of, 'certificate-authority-data', cluster.at),
    certificate: textOf(user.of, 'client-certificate-data', user.at),
    key: textOf(user.of, 'client-key-data', user.at),
  };
};
