import { parseQuantity } from '@fairlead/kubernetes/quantity';
import type { FieldProblem } from '../errors/api.error.js';
import { asJson, isJsonArray, isJsonObject, sameJson, valueAt, type Json } from '../objects/json.js';
import { matchesSelector, type LabelSelector } from '../objects/label.selector.js';
import type { KubeObject, Labels } from '../objects/kube.object.js';
import { qualifiedName, type ResourceDefinition } from '../resources/resource.js';

const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const PATH_SEGMENT = /^[^/%]+$/;
const LABEL_KEY = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_VALUE_RULE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const TEMPLATED = ['deployments.apps', 'replicasets.apps', 'daemonsets.apps', 'statefulsets.apps', 'jobs.batch'];
const SELECTED = TEMPLATED.filter((name) => name !== 'jobs.batch');

const required = (field: string): FieldProblem => ({ field, reason: 'FieldValueRequired', message: 'Required value' });

const wrong = (field: string, value: unknown, why: string): FieldProblem => ({
  field,
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${JSON.stringify(value ?? null)}: ${why}`,
});

/** Basic validation, refused with 422. The simulation has no schemas, so it does not find every mistake. */
export const validate = (
  resource: ResourceDefinition,
  object: KubeObject,
  previous?: KubeObject,
): readonly FieldProblem[] => [
  ...metadataProblems(resource, object),
  ...(qualifiedName(resource) === 'pods' ? podSpecProblems(valueAt(object, 'spec'), 'spec') : []),
  ...(TEMPLATED.includes(qualifiedName(resource)) ? templateProblems(resource, object, previous) : []),
  ...(qualifiedName(resource) === 'poddisruptionbudgets.policy' ? budgetProblems(object) : []),
  ...(qualifiedName(resource) === 'services' ? serviceProblems(object) : []),
  ...(qualifiedName(resource) === 'nodes' ? taintProblems(object) : []),
  ...(previous !== undefined && qualifiedName(resource) === 'pods' ? podChangeProblems(object, previous) : []),
];

const metadataProblems = (resource: ResourceDefinition, { metadata }: KubeObject): readonly FieldProblem[] => {
  const rbac = resource.group === 'rbac.authorization.k8s.io';
  const nameOk = rbac ? PATH_SEGMENT.test(metadata.name) : SUBDOMAIN.test(metadata.name) && metadata.name.length <= 253;
  return [
    ...(metadata.name === ''
      ? [{ ...required('metadata.name'), message: 'Required value: name or generateName is required' }]
      : []),
    ...(metadata.name !== '' && !nameOk ? [wrong('metadata.name', metadata.name, SUBDOMAIN_RULE)] : []),
    ...labelProblems(metadata.labels, 'metadata.labels'),
  ];
};

const labelProblems = (labels: Labels | undefined, field: string): readonly FieldProblem[] =>
  Object.entries(labels ?? {}).flatMap(([key, value]) => [
    ...(LABEL_KEY.test(key)
      ? []
      : [wrong(field, key, "name part must consist of alphanumeric characters, '-', '_' or '.'")]),
    ...(typeof value === 'string' && LABEL_VALUE.test(value) ? [] : [wrong(field, value, LABEL_VALUE_RULE)]),
  ]);

const podSpecProblems = (spec: unknown, field: string): readonly FieldProblem[] => {
  const containers = valueAt(spec, 'containers');
  if (!isJsonArray(containers) || containers.length === 0) return [required(`${field}.containers`)];
  const names = containers.map((container) => valueAt(container, 'name'));
  return containers.flatMap((container, index) => {
    const at = `${field}.containers[${index}]`;
    const name = names[index];
    return [
      ...(typeof name === 'string' && name !== '' ? [] : [required(`${at}.name`)]),
      ...(typeof valueAt(container, 'image') === 'string' ? [] : [required(`${at}.image`)]),
      ...(names.indexOf(name) === index
        ? []
        : [
            {
              field: `${at}.name`,
              reason: 'FieldValueDuplicate' as const,
              message: `Duplicate value: ${JSON.stringify(name)}`,
            },
          ]),
      ...quantityProblems(valueAt(container, 'resources.requests'), `${at}.resources.requests`),
      ...quantityProblems(valueAt(container, 'resources.limits'), `${at}.resources.limits`),
    ];
  });
};

const quantityProblems = (list: unknown, field: string): readonly FieldProblem[] =>
  isJsonObject(list)
    ? Object.entries(list)
        .filter(
          ([, value]) => (typeof value !== 'string' && typeof value !== 'number') || parseQuantity(value) === undefined,
        )
        .map(([name, value]) =>
          wrong(
            `${field}[${name}]`,
            value,
            "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
          ),
        )
    : [];

const templateProblems = (
  resource: ResourceDefinition,
  object: KubeObject,
  previous: KubeObject | undefined,
): readonly FieldProblem[] => {
  const replicas = valueAt(object, 'spec.replicas');
  const template = valueAt(object, 'spec.template');
  if (!isJsonObject(template)) return [required('spec.template')];
  return [
    ...(replicas === undefined || (typeof replicas === 'number' && replicas >= 0)
      ? []
      : [wrong('spec.replicas', replicas, 'must be greater than or equal to 0')]),
    ...podSpecProblems(template['spec'], 'spec.template.spec'),
    ...(SELECTED.includes(qualifiedName(resource)) ? selectorProblems(object, template) : []),
    ...(previous === undefined || sameJson(valueAt(object, 'spec.selector'), valueAt(previous, 'spec.selector'))
      ? []
      : [wrong('spec.selector', valueAt(object, 'spec.selector'), 'field is immutable')]),
  ];
};

const selectorProblems = (object: KubeObject, template: Json): readonly FieldProblem[] => {
  const selector = valueAt(object, 'spec.selector');
  if (!isJsonObject(selector)) return [required('spec.selector')];
  if (Object.keys(selector).length === 0) {
    return [wrong('spec.selector', selector, 'empty selector is invalid for this kind of object')];
  }
  const labels = valueAt(template, 'metadata.labels');
  const given = isJsonObject(labels) ? (labels as Labels) : {};
  return [
    ...labelProblems(given, 'spec.template.metadata.labels'),
    ...(matchesSelector(selector as LabelSelector, given)
      ? []
      : [wrong('spec.template.metadata.labels', given, '`selector` does not match template `labels`')]),
  ];
};

const budgetProblems = (object: KubeObject): readonly FieldProblem[] =>
  valueAt(object, 'spec.minAvailable') !== undefined && valueAt(object, 'spec.maxUnavailable') !== undefined
    ? [wrong('spec', valueAt(object, 'spec'), 'minAvailable and maxUnavailable cannot be both set')]
    : [];

const serviceProblems = (object: KubeObject): readonly FieldProblem[] => {
  const ports = valueAt(object, 'spec.ports');
  const headless = valueAt(object, 'spec.clusterIP') === 'None' || valueAt(object, 'spec.type') === 'ExternalName';
  return headless || (isJsonArray(ports) && ports.length > 0) ? [] : [required('spec.ports')];
};

const EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

const taintProblems = (object: KubeObject): readonly FieldProblem[] => {
  const taints = valueAt(object, 'spec.taints');
  if (!isJsonArray(taints)) return [];
  return taints.flatMap((taint, index) => {
    const effect = valueAt(taint, 'effect');
    return typeof effect === 'string' && EFFECTS.includes(effect)
      ? []
      : [
          {
            field: `spec.taints[${index}].effect`,
            reason: 'FieldValueNotSupported' as const,
            message: `Unsupported value: ${JSON.stringify(effect ?? null)}: supported values: ${EFFECTS.map((name) => `"${name}"`).join(', ')}`,
          },
        ];
  });
};

/** The only fields of a pod's spec that may change after creation (pkg/apis/core/validation, ValidatePodUpdate). */
const MUTABLE_POD_FIELDS = [
  'tolerations',
  'activeDeadlineSeconds',
  'terminationGracePeriodSeconds',
  'containers',
  'initContainers',
  'schedulingGates',
  'ephemeralContainers',
];

const podChangeProblems = (object: KubeObject, previous: KubeObject): readonly FieldProblem[] => {
  const [next, last] = [asJson(object)['spec'], asJson(previous)['spec']];
  if (!isJsonObject(next) || !isJsonObject(last)) return [];
  const changed = [...new Set([...Object.keys(next), ...Object.keys(last)])].filter(
    (key) => !sameJson(next[key], last[key]),
  );
  return changed.every((key) => MUTABLE_POD_FIELDS.includes(key))
    ? []
    : [
        {
          field: 'spec',
          reason: 'FieldValueForbidden',
          message:
            'Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
        },
      ];
};
