import { asJson, isJsonObject, valueAt } from '../objects/json.js';
import type { Draft, KubeObject } from '../objects/kube.object.js';
import type { ResourceDefinition } from '../resources/resource.js';
import { isAllowed, type AccessAttributes, type Judgement } from './authorization.js';
import type { Identity } from '../api/identity.js';
import { ANONYMOUS } from './identity.js';
import { RBAC_NOT_EVALUATED } from './not.simulated.js';

/** The review with its result as the status. */
export const answerReview = (
  resource: ResourceDefinition,
  draft: Draft,
  { identity, ...judgement }: Judgement & { readonly identity: Identity },
): object => {
  const reviewed = { ...draft, metadata: { ...draft.metadata, creationTimestamp: null } };
  switch (resource.plural) {
    case 'selfsubjectreviews':
      return { ...reviewed, status: { userInfo: { username: identity.name, groups: identity.groups } } };
    case 'selfsubjectrulesreviews':
      return { ...reviewed, status: rulesOf(identity, judgement) };
    case 'selfsubjectaccessreviews':
      return { ...reviewed, status: accessOf(identity, draft, judgement) };
  }
  const subject = subjectOf(draft);
  if (!isJudged(subject)) return { ...reviewed, status: { allowed: false, evaluationError: RBAC_NOT_EVALUATED } };
  return { ...reviewed, status: accessOf(subject, draft, judgement) };
};

/** Whether a user's requests are authorized by identity; for all others only RBAC applies. */
const isJudged = ({ name, groups }: Identity): boolean =>
  name === ANONYMOUS.name || groups.some((group) => JUDGED_GROUPS.includes(group));

const JUDGED_GROUPS = ['system:masters', 'system:nodes', 'system:bootstrappers'];

const subjectOf = (draft: Draft): Identity => {
  const groups = valueAt(draft, 'spec.groups');
  return { name: String(valueAt(draft, 'spec.user') ?? ''), groups: Array.isArray(groups) ? groups.map(String) : [] };
};

const accessOf = (identity: Identity, draft: Draft, judgement: Judgement): object => {
  const desired = valueAt(draft, 'spec.resourceAttributes');
  const allowed =
    !isJsonObject(desired) || isAllowed(identity, attributesOf(desired as unknown as KubeObject), judgement);
  return allowed ? { allowed, reason: 'allowed by the simulation, which does not enforce RBAC' } : { allowed };
};

const attributesOf = (desired: KubeObject): AccessAttributes => {
  const text = (key: string): string | undefined => {
    const value = asJson(desired)[key];
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  return {
    verb: text('verb') ?? '',
    group: text('group') ?? '',
    plural: text('resource') ?? '',
    subresource: text('subresource'),
    namespace: text('namespace'),
    name: text('name'),
  };
};

/** The rules of `isAllowed`, as far as the format of the review can express them. */
const rulesOf = (identity: Identity, { isClusterAdmin }: Judgement): object => {
  const everything = identity.groups.includes('system:masters') || isClusterAdmin(identity);
  return {
    resourceRules: everything
      ? [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]
      : [{ verbs: ['get', 'list', 'watch'], apiGroups: ['*'], resources: ['*'] }],
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['*'] }],
    incomplete: !everything,
  };
};
