import { REFUSALS, type RefusalCode } from '@fairlead/contracts';

type Sentences = { readonly [C in RefusalCode]?: string };

/** The exact texts of CB-Ladybug v0.7.2, with the placeholders of the catalogue's own sentences and of the path; its clients may compare them. */
const SENTENCES: Sentences = {
  'cluster.unknown': "Could not be found a cluster '{cluster}'. (namespace={namespace})",
  'cluster.name-taken': "The cluster '{cluster}' already exists. (namespace={namespace})",
  'cluster.not-ready': "Unable to {action}. status is '{phase}'.",
  'cluster.name-empty': 'Cluster name is empty',
  'cluster.name-invalid':
    '{name}: The first character of name must be a lowercase letter, and all following characters must be a dash, lowercase letter, or digit, except the last character, which cannot be a dash.',
  'cluster.control-plane-missing': 'Control plane node must be at least one',
  'cluster.control-plane-sets': 'Only one control plane node is supported',
  'cluster.control-plane-count': 'Control-Plane count must be at least one.',
  'cluster.worker-missing': 'Worker node must be at least one',
  'cluster.worker-count': 'Worker count must be at least one. (connection={connection})',
  'cluster.connection-empty': 'Connection is empty',
  'cluster.spec-empty': 'Machine specification is empty',
  'cluster.cni-multi': 'Network-cni allows only canal or kilo in Multi-Cloud type',
  'cluster.cni-single': 'Network-cni allows only calico or flannel in Single-Cloud type',
  'cluster.service-type': 'serviceType allows only multi or single',
  'cluster.mon-agent': 'installMonAgent allows only yes or no',
  'cluster.loadbalancer': 'loadbalancer allows only haproxy or nlb',
  'cluster.etcd': 'etcd allows only local or external',
  'cluster.etcd-external-count': 'External etcd must have 3,5,7 controlPlane count',
  'cluster.pod-cidr': 'podCidr {value} : Type mismatch ex)10.244.0.0/16',
  'cluster.service-cidr': 'serviceCidr {value} : Type mismatch ex)10.244.0.0/16',
  'cluster.single-connection': 'All nodes must be the same connection config. (connection={connection})',
  'cluster.machines-exist': 'MCIS already exists. (namespace={namespace}, mcis={cluster})',
  'cluster.spec-unknown': "Could not be found a spec '{spec}'. (connection={connection}, csp={provider})",
  'cluster.spec-cpu': 'Kubernetes control plane node needs 2 cpu at least. (csp={provider}, spec={spec}, cpu={cpu})',
  'cluster.spec-memory': 'kubernetes node needs 2 GiB or more of RAM. (csp={provider}, spec={spec}, memory={memory}GB)',
  'cluster.region-unknown': 'Region does not exist ({region})',
  'cluster.role-missing': 'Failed to prepare cloud-controller-manager: role should be assigned',
  'cluster.nlb-unsupported': '{provider} does not yet supported nlb loadbalancer.',
  'node.unknown': "Could not be found a node-entity '{node}'",
  'node.initial-control-plane': 'Could not be delete a control-plane leader node.',
  'namespace.unknown': 'Could not be found a namespace. (namespace={namespace})',
  'connection.unknown': 'Connection does not exist. ({connection})',
  'connection.provider-unknown': "The CSP '{provider}' is not supported",
  'node.control-plane-unsupported': 'Control plane node is not supported',
  'spec-list.range':
    'The {name}-max must be greater than or equal to the {name}-min. ({name}-min={min} {name}-max={max})',
};

/** Where CB-Ladybug words the same refusal differently: by method, and whether the path names a node. */
const ROUTE_SENTENCES: Readonly<Record<string, Sentences>> = {
  'GET cluster': { 'cluster.unknown': "Could not be found a cluster '{cluster}' (namespace={namespace})" },
  'DELETE cluster': { 'cluster.unknown': "Could not be found cluster '{cluster}'. (namespace={namespace})" },
  'GET node': {
    'cluster.unknown': "Could not be found a node '{node}' (namespace={namespace}, cluster={cluster})",
    'node.unknown': "Could not be found a node '{node}' (namespace={namespace}, cluster={cluster})",
  },
  'DELETE node': { 'cluster.unknown': 'Could not be found a cluster. (namespace={namespace}, cluster={cluster})' },
};

interface Rewording {
  readonly pattern: RegExp;
  readonly sentence: string;
}

const literally = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);

/** Matches what a sentence of the catalogue says, with the value of each placeholder as a group. */
const patternOf = (sentence: string): RegExp => {
  const seen = new Set<string>();
  const group = (name: string): string => {
    if (seen.has(name)) return `\\k<${name}>`;
    seen.add(name);
    return `(?<${name}>.*)`;
  };
  const parts = sentence.split(/\{(\w+)\}/);
  return new RegExp(`^${parts.map((part, at) => (at % 2 === 0 ? literally(part) : group(part))).join('')}$`, 's');
};

const rewordings = (sentences: Sentences): ReadonlyMap<string, Rewording> =>
  new Map(
    Object.entries(sentences).map(([code, sentence]) => [
      code,
      { pattern: patternOf(REFUSALS[code as RefusalCode].sentence), sentence },
    ]),
  );

const REWORDINGS = rewordings(SENTENCES);
const ROUTE_REWORDINGS = new Map(
  Object.entries(ROUTE_SENTENCES).map(([route, sentences]) => [route, rewordings(sentences)]),
);

/** The request that a refusal answers. */
export interface Route {
  readonly method: string;
  readonly of: 'cluster' | 'node';
  /** What its path names: fills the placeholders that our own sentence does not have. */
  readonly names: Readonly<Record<string, string>>;
}

const reworded = (message: string, { pattern, sentence }: Rewording, names: Route['names']): string | undefined => {
  const found = pattern.exec(message);
  if (found === null) return undefined;
  const values: Readonly<Record<string, string | undefined>> = { ...names, ...found.groups };
  return sentence.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
};

/** The message of a refusal in CB-Ladybug's words; as it is, where CB-Ladybug has none. */
export const sentenceOf = (code: string, message: string, route?: Route): string => {
  const own = route === undefined ? undefined : ROUTE_REWORDINGS.get(`${route.method} ${route.of}`)?.get(code);
  const rewording = own ?? REWORDINGS.get(code);
  return (rewording === undefined ? undefined : reworded(message, rewording, route?.names ?? {})) ?? message;
};
