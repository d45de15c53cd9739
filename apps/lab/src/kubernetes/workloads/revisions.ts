import { create, remove, replace, type Operation } from '../operations/operation.js';
import type { PodTemplate } from '../objects/core.types.js';
import { controllerReference, type Draft, type KubeObject } from '../objects/kube.object.js';
import type { ControllerRevision } from '../objects/workload.types.js';
import { CONTROLLER_REVISIONS } from '../resources/builtin.resources.js';
import { templateHash } from './pod.template.js';

/** The label with the hash of the template from which a pod was created. */
export const REVISION_LABEL = 'controller-revision-hash';

export interface RevisionPlan {
  /** The hash of the current template, as in `controller-revision-hash` of its pods. */
  readonly hash: string;
  readonly name: string;
  readonly operations: readonly Operation[];
}

interface Owner extends KubeObject {
  readonly spec: { readonly template: PodTemplate; readonly revisionHistoryLimit?: number };
}

/** Stores the history of templates as ControllerRevisions for `kubectl rollout history` and `undo`. */
export const planRevisions = (
  owner: Owner,
  revisions: readonly ControllerRevision[],
  inUse: ReadonlySet<string>,
): RevisionPlan => {
  const hash = templateHash(owner.spec.template);
  const name = `${owner.metadata.name}-${hash}`;
  const known = revisions.find(({ metadata }) => metadata.name === name);
  const newest = Math.max(0, ...revisions.map(({ revision }) => revision));
  const note =
    known === undefined
      ? [create(CONTROLLER_REVISIONS, revisionDraft(owner, hash, newest + 1), 'the template has no revision yet')]
      : known.revision < newest
        ? [replace(CONTROLLER_REVISIONS, { ...known, revision: newest + 1 }, 'an earlier template is desired again')]
        : [];
  const surplus = revisions
    .filter(({ metadata }) => metadata.name !== name && !inUse.has(metadata.labels?.[REVISION_LABEL] ?? ''))
    .sort((a, b) => b.revision - a.revision)
    .slice(owner.spec.revisionHistoryLimit ?? 10);
  return {
    hash,
    name,
    operations: [...note, ...surplus.map((old) => remove(CONTROLLER_REVISIONS, old, 'it is beyond the history limit'))],
  };
};

const revisionDraft = (owner: Owner, hash: string, revision: number): Draft<ControllerRevision> => ({
  apiVersion: 'apps/v1',
  kind: 'ControllerRevision',
  metadata: {
    name: `${owner.metadata.name}-${hash}`,
    namespace: owner.metadata.namespace ?? '',
    labels: { ...owner.spec.template.metadata?.labels, [REVISION_LABEL]: hash },
    ownerReferences: [controllerReference(owner)],
  },
  data: { spec: { template: { $patch: 'replace', ...owner.spec.template } } },
  revision,
});
