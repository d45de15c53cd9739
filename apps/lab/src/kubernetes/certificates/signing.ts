import { ApiError, invalid, type FieldProblem } from '../errors/api.error.js';
import { timestamp } from '../clock/clock.js';
import type { Identity } from '../api/identity.js';
import { valueAt } from '../objects/json.js';
import type { Draft, KubeObject } from '../objects/kube.object.js';
import { CERTIFICATE_SIGNING_REQUESTS } from '../resources/builtin.resources.js';
import type { ResourceDefinition } from '../resources/resource.js';
import { subjectOf, type CertificateAuthority } from './certificate.authority.js';

const CLIENT_SIGNER = 'kubernetes.io/kube-apiserver-client';
const EXPIRATION_SECONDS_MIN = 600;

const requestIn = (object: unknown): string => {
  const text = valueAt(object, 'spec.request');
  return typeof text === 'string' ? Buffer.from(text, 'base64').toString('latin1') : '';
};

const problemsOf = (draft: Draft): readonly FieldProblem[] => {
  const seconds = valueAt(draft, 'spec.expirationSeconds') ?? EXPIRATION_SECONDS_MIN;
  const signer = valueAt(draft, 'spec.signerName');
  return [
    ...(subjectOf(requestIn(draft)) === undefined
      ? [{ field: 'spec.request', reason: 'FieldValueInvalid' as const, message: 'Invalid value: unable to parse csr' }]
      : []),
    ...(typeof signer === 'string' && signer !== ''
      ? []
      : [{ field: 'spec.signerName', reason: 'FieldValueRequired' as const, message: 'Required value' }]),
    ...(Number(seconds) >= EXPIRATION_SECONDS_MIN
      ? []
      : [
          {
            field: 'spec.expirationSeconds',
            reason: 'FieldValueInvalid' as const,
            message: `Invalid value: ${String(seconds)}: may not specify a duration less than 600 seconds (10 minutes)`,
          },
        ]),
  ];
};

/**
 * A validated CertificateSigningRequest with the user who sent it, as the API server stores it. Other objects are
 * returned unchanged.
 * @throws {ApiError} 422 for an invalid request, 403 for one with the group `system:masters`.
 */
export const admittedRequest = (resource: ResourceDefinition, draft: Draft, identity: Identity): Draft => {
  if (resource !== CERTIFICATE_SIGNING_REQUESTS) return draft;
  const problems = problemsOf(draft);
  if (problems.length > 0) throw invalid(resource, draft.metadata.name ?? '', problems);
  const isClient = valueAt(draft, 'spec.signerName') === CLIENT_SIGNER;
  if (isClient && subjectOf(requestIn(draft))?.organizations.includes('system:masters') === true)
    throw new ApiError(403, 'Forbidden', `use of ${CLIENT_SIGNER} signer with system:masters group is not allowed`);
  const spec = valueAt(draft, 'spec') as object;
  return { ...draft, spec: { ...spec, username: identity.name, groups: [...identity.groups] } } as unknown as Draft;
};

const conditionsOf = (object: KubeObject): readonly unknown[] => {
  const conditions = valueAt(object, 'status.conditions');
  return Array.isArray(conditions) ? conditions : [];
};

/** Whether a request is approved, has no certificate yet, and names the one signer that is simulated. */
const isToBeSigned = (object: KubeObject): boolean =>
  valueAt(object, 'spec.signerName') === CLIENT_SIGNER &&
  valueAt(object, 'status.certificate') === undefined &&
  conditionsOf(object).some((condition) => valueAt(condition, 'type') === 'Approved') &&
  !conditionsOf(object).some((condition) => ['Denied', 'Failed'].includes(String(valueAt(condition, 'type'))));

/** The status that kube-controller-manager sets on the request, or undefined if it leaves the request unchanged. */
export const signedStatus = async (
  object: KubeObject,
  authority: CertificateAuthority,
  nowMs: number,
): Promise<object | undefined> => {
  if (!isToBeSigned(object)) return undefined;
  const conditions = conditionsOf(object);
  const seconds = valueAt(object, 'spec.expirationSeconds');
  try {
    const certificate = await authority.sign(
      requestIn(object),
      nowMs,
      typeof seconds === 'number' ? seconds : undefined,
    );
    return { conditions, certificate: Buffer.from(certificate).toString('base64') };
  } catch (error) {
    const failed = {
      type: 'Failed',
      status: 'True',
      reason: 'SigningFailed',
      message: error instanceof Error ? error.message : String(error),
      lastTransitionTime: timestamp(nowMs),
    };
    return { conditions: [...conditions, failed] };
  }
};
