/** The two files of one Kubernetes API package that describe the same types. */
export interface PackageSources {
  /** generated.proto: numbers and types. */
  readonly proto: string;
  /** types.go: which fields are pointers. */
  readonly go: string;
}

/**
 * Extracts the fields of Kubernetes' API types, one line per message:
 *
 * core.v1.Pod metadata=1:meta.v1.ObjectMeta spec=2:core.v1.PodSpec status=3:core.v1.PodStatus
 *
 * `*` before a type is a list, `%` a map with string keys. `^` before a name is a field whose members are inlined into
 * its parent in JSON, `~` one whose zero value (0, false, empty string) means that it is absent.
 */
export const extractSchema = (packages: readonly PackageSources[]): readonly string[] =>
  packages.flatMap(({ proto, go }) => messagesOf(proto, omittedZeros(go)));

/** `Struct.member` of all Go fields that are values, not pointers, and omitted from JSON if zero. */
const omittedZeros = (go: string): ReadonlySet<string> => {
  const found = new Set<string>();
  let struct = '';
  for (const line of go.split('\n')) {
    struct = /^type (\w+) struct \{/.exec(line)?.[1] ?? struct;
    const [, type = '', json = ''] = /^\s+\w+\s+(\S+)\s+`json:"([^"]+)"/.exec(line) ?? [];
    const [name = '', ...options] = json.split(',');
    if (options.includes('omitempty') && !/^(\*|\[\]|map)/.test(type)) found.add(`${struct}.${name}`);
  }
  return found;
};

/** Fields that Go inlines into their parent (`json:",inline"` in types.go). */
const INLINE = new Set([
  'volumeSource',
  'persistentVolumeSource',
  'localObjectReference',
  'handler',
  'ephemeralContainerCommon',
  'ingressRuleValue',
  'ruleWithOperations',
]);
const INLINE_IN_GROUP: Readonly<Record<string, string>> = { rule: 'admissionregistration.' };

/** JSON names that differ from the proto names. */
const JSON_NAMES: Readonly<Record<string, string>> = {
  aPIGroup: 'apiGroup',
  uID: 'uid',
  Expression: 'expression',
  Name: 'name',
  Webhooks: 'webhooks',
};

const FIELD = /^\s*(optional|required|repeated|map<string, ([^>]+)>)\s+(?:(\S+)\s+)?(\w+) = (\d+)/;

const messagesOf = (proto: string, omitted: ReadonlySet<string>): readonly string[] => {
  const home = shortName(/^package (\S+);/m.exec(proto)?.[1] ?? '');
  const lines: string[] = [];
  let message: string[] | undefined;
  for (const line of proto.split('\n')) {
    const opened = /^message (\w+) \{/.exec(line);
    if (opened?.[1] !== undefined) message = [`${home}.${opened[1]}`];
    else if (line === '}' && message !== undefined) {
      lines.push(message.join(' '));
      message = undefined;
    } else if (message !== undefined && !/^\s*\/\//.test(line)) {
      const field = fieldOf(line, home, (name) => omitted.has(`${message?.[0]?.slice(home.length + 1)}.${name}`));
      if (field !== undefined) message.push(field);
    }
  }
  return lines;
};

const fieldOf = (line: string, home: string, omitsZero: (name: string) => boolean): string | undefined => {
  const [, label = '', mapValue, type, name = '', number = ''] = FIELD.exec(line) ?? [];
  if (label === '') return undefined;
  const inline = INLINE.has(name) || (INLINE_IN_GROUP[name] !== undefined && home.startsWith(INLINE_IN_GROUP[name]));
  const mark = mapValue !== undefined ? '%' : label === 'repeated' ? '*' : '';
  const jsonName = JSON_NAMES[name] ?? name;
  const scalar = mark === '' && /^[a-z]/.test(type ?? '');
  const kind = inline ? '^' : scalar && omitsZero(jsonName) ? '~' : '';
  return `${kind}${jsonName}=${number}:${mark}${typeName(mapValue ?? type ?? '', home)}`;
};

const typeName = (type: string, home: string): string => {
  if (type.startsWith('.')) return shortName(type.slice(1));
  return /^[a-z]/.test(type) ? type : `${home}.${type}`;
};

const shortName = (name: string): string =>
  name
    .replace(/^k8s\.io\.apimachinery\.pkg\.apis\./, '')
    .replace(/^k8s\.io\.apimachinery\.pkg\./, '')
    .replace(/^k8s\.io\.api\./, '');

/** The messages reachable from these, in the given order. */
export const reachable = (lines: readonly string[], roots: readonly string[]): readonly string[] => {
  const byName = new Map(lines.map((line) => [line.slice(0, `${line} `.indexOf(' ')), line]));
  const seen = new Set<string>();
  const visit = (name: string): void => {
    const line = byName.get(name);
    if (line === undefined || seen.has(name)) return;
    seen.add(name);
    for (const [, type = ''] of line.matchAll(/:[*%]?(\S+)/g)) visit(type);
  };
  roots.forEach(visit);
  return lines.filter((line) => seen.has(line.slice(0, `${line} `.indexOf(' '))));
};
