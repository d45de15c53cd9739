import { asJson, isJsonObject, valueAt } from '../objects/json.js';
import type { Pod } from '../objects/core.types.js';
import type { Draft, KubeObject } from '../objects/kube.object.js';
import type { ResourceDefinition } from '../resources/resource.js';
import { isAllowed, type AccessAttributes } from './authorization.js';
import { ANONYMOUS, type Identity } from './identity.js';
import { RBAC_NOT_EVALUATED } from './not.simulated.js';

type PodOf = (namespace: string, name: string) => Pod | undefined;

/** The review with its answer as status. */
export const answerReview = (
  resource: ResourceDefinition,
  draft: Draft,
  { identity, podOf }: { readonly identity: Identity; readonly podOf: PodOf },
): object => {
  const reviewed = { ...draft, metadata: { ...draft.metadata, creationTimestamp: null } };
  switch (resource.plural) {
    case 'selfsubjectreviews':
      return { ...reviewed, status: { userInfo: { username: identity.name, groups: identity.groups } } };
    case 'selfsubjectrulesreviews':
      return { ...reviewed, status: rulesOf(identity) };
    case 'selfsubjectaccessreviews':
      return { ...reviewed, status: accessOf(identity, draft, podOf) };
  }
  const subject = subjectOf(draft);
  if (!isJudged(subject)) return { ...reviewed, status: { allowed: false, evaluationError: RBAC_NOT_EVALUATED } };
  return { ...reviewed, status: accessOf(subject, draft, podOf) };
};

/** Those whose requests are judged by who they are; of all others nothing is known but what RBAC would say. */
const isJudged = ({ name, groups }: Identity): boolean =>
  name === ANONYMOUS.name || groups.some((group) => JUDGED_GROUPS.includes(group));

const JUDGED_GROUPS = ['system:masters', 'system:nodes', 'system:bootstrappers'];

const subjectOf = (draft: Draft): Identity => {
  const groups = valueAt(draft, 'spec.groups');
  return { name: String(valueAt(draft, 'spec.user') ?? ''), groups: Array.isArray(groups) ? groups.map(String) : [] };
};

const accessOf = (identity: Identity, draft: Draft, podOf: PodOf): object => {
  const wanted = valueAt(draft, 'spec.resourceAttributes');
  const allowed = !isJsonObject(wanted) || isAllowed(identity, attributesOf(wanted as unknown as KubeObject), podOf);
  return allowed ? { allowed, reason: 'allowed by the simulation, which does not enforce RBAC' } : { allowed };
};

const attributesOf = (wanted: KubeObject): AccessAttributes => {
  const text = (key: string): string | undefined => {
    const value = asJson(wanted)[key];
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

/** The rules that `isAllowed` follows, as far as the review's form can say them. */
const rulesOf = (identity: Identity): object => {
  const everything = !identity.groups.includes('system:nodes') && !identity.groups.includes('system:bootstrappers');
  return {
    resourceRules: everything
      ? [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }]
      : [{ verbs: ['get', 'list', 'watch'], apiGroups: ['*'], resources: ['*'] }],
    nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['*'] }],
    incomplete: !everything,
  };
};
