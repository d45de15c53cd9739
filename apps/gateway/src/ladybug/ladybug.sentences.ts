import { REFUSALS, type RefusalCode } from '@fairlead/contracts';

/** The exact texts of CB-Ladybug, with the placeholders of the catalogue's own sentences; its clients may compare them. */
const SENTENCES: { readonly [C in RefusalCode]?: string } = {
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
  'cluster.cni-single': 'Network-cni allows only calico, flannel or cilium in Single-Cloud type',
  'cluster.service-type': 'serviceType allows only multi or single',
  'cluster.mon-agent': 'installMonAgent allows only yes or no',
  'cluster.loadbalancer': 'loadbalancer allows only haproxy or nlb',
  'cluster.etcd': 'etcd allows only local or external',
  'cluster.etcd-external-count': 'External etcd must have 3,5,7 controlPlane count',
  'cluster.pod-cidr': 'podCidr {value} : Type mismatch ex)10.244.0.0/16',
  'cluster.service-cidr': 'serviceCidr {value} : Type mismatch ex)10.96.0.0/12',
  'cluster.single-connection': 'All nodes must be the same connection config. (connection={connection})',
  'cluster.machines-exist': 'MCIS already exists. (namespace={namespace}, mcis={cluster})',
  'cluster.spec-unknown': "Could not be found a spec '{spec}'. (connection={connection}, csp={provider})",
  'cluster.spec-cpu': 'Kubernetes control plane node needs 2 cpu at least. (spec={spec}, cpu={cpu})',
  'cluster.spec-memory': 'kubernetes node needs 2 GiB or more of RAM. (spec={spec}, memory={memory})',
  'cluster.region-unknown': 'Region does not exist ({region})',
  'cluster.nlb-unsupported': '{provider} does not yet supported nlb loadbalancer.',
  'node.unknown': "Could not be found a node-entity '{node}'",
  'node.initial-control-plane': 'Could not be delete a control-plane leader node.',
  'namespace.unknown': 'Could not be found a namespace. (namespace={namespace})',
  'connection.unknown': 'Connection does not exist. ({connection})',
  'connection.provider-unknown': "The CSP '{provider}' is not supported",
  'node.control-plane-unsupported': 'Control plane node is not supported',
};

interface Rewording {
  readonly pattern: RegExp;
  readonly sentence: string;
}

const literally = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`);

/** Matches what a sentence of the catalogue says, with the value of each placeholder as a group. */
const patternOf = (sentence: string): RegExp => {
  const parts = sentence.split(/\{(\w+)\}/);
  return new RegExp(`^${parts.map((part, at) => (at % 2 === 0 ? literally(part) : `(?<${part}>.*)`)).join('')}$`, 's');
};

const REWORDINGS: ReadonlyMap<string, Rewording> = new Map(
  Object.entries(SENTENCES).map(([code, sentence]) => [
    code,
    { pattern: patternOf(REFUSALS[code as RefusalCode].sentence), sentence },
  ]),
);

const reworded = (message: string, { pattern, sentence }: Rewording): string | undefined => {
  const values = pattern.exec(message);
  return values === null
    ? undefined
    : sentence.replaceAll(/\{(\w+)\}/g, (_, name: string) => values.groups?.[name] ?? '');
};

/** The message of a refusal in CB-Ladybug's words; as it is, where CB-Ladybug has none. */
export const sentenceOf = (code: string, message: string): string => {
  const rewording = REWORDINGS.get(code);
  return (rewording === undefined ? undefined : reworded(message, rewording)) ?? message;
};
