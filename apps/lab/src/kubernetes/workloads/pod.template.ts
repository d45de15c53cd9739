import type { Pod, PodTemplate } from '../objects/core.types.js';
import { canonicalJson } from '../objects/json.js';
import { controllerReference, type Draft, type KubeObject, type Labels } from '../objects/kube.object.js';
import { remembered } from '../objects/remembered.js';

/** A pod created from its controller's template. */
export const podFromTemplate = (
  owner: KubeObject,
  template: PodTemplate,
  given: { readonly name?: string; readonly labels?: Labels } = {},
): Draft<Pod> => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    ...(given.name === undefined ? { generateName: `${owner.metadata.name}-` } : { name: given.name }),
    namespace: owner.metadata.namespace ?? '',
    labels: { ...template.metadata?.labels, ...given.labels },
    ...(template.metadata?.annotations === undefined ? {} : { annotations: template.metadata.annotations }),
    ownerReferences: [controllerReference(owner)],
  },
  spec: template.spec,
});

/** The alphabet of Kubernetes' generated names, without vowels to avoid words. */
const SAFE_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789';

/** A short name for a template: equal templates have equal hashes, in the alphabet of Kubernetes' own hash. */
export const templateHash = remembered((template: object): string => {
  let hash = 0x811c9dc5;
  for (const character of canonicalJson(template)) {
    hash ^= character.codePointAt(0) ?? 0;
    hash = Math.imul(hash, 0x01000193) >>> 0;
  }
  return [...String(hash)].map((digit) => SAFE_ALPHABET[digit.charCodeAt(0) % SAFE_ALPHABET.length]).join('');
});
