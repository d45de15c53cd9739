import type { ResourceDefinition, Verb } from './resource.js';

const review = (group: string, kind: string, plural: string, namespaced = false): ResourceDefinition => ({
  group,
  version: 'v1',
  otherVersions: [],
  deprecated: [],
  plural,
  singular: kind.toLowerCase(),
  kind,
  namespaced,
  shortNames: [],
  categories: [],
  subresources: [],
  verbs: ['create'] satisfies Verb[],
  custom: false,
});

/** Resources that are answered but not stored. */
export const REVIEW_RESOURCES: readonly ResourceDefinition[] = [
  review('authorization.k8s.io', 'SelfSubjectAccessReview', 'selfsubjectaccessreviews'),
  review('authorization.k8s.io', 'SelfSubjectRulesReview', 'selfsubjectrulesreviews'),
  review('authorization.k8s.io', 'SubjectAccessReview', 'subjectaccessreviews'),
  review('authorization.k8s.io', 'LocalSubjectAccessReview', 'localsubjectaccessreviews', true),
  review('authentication.k8s.io', 'SelfSubjectReview', 'selfsubjectreviews'),
];
