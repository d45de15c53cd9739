import { ExternalFailure } from '@fairlead/contracts';
import { parseJsonOrUndefined } from '@fairlead/parsers';
import { statusOf, type KubernetesClient } from '../kubernetes.client.js';
import { ApiException } from '@kubernetes/client-node';
import type { EvictionAnswer, PodIdentity } from '../cluster.ports.js';

const GONE = 404;
/** Another pod has this name now (the precondition on the uid failed). */
const CONFLICT = 409;
const TOO_MANY_REQUESTS = 429;
/** A pod with more than one budget, which the eviction subresource does not support. */
const UNSUPPORTED = 500;

/** The cause of a request that Kubernetes forbids in a namespace that is being deleted. */
const NAMESPACE_TERMINATING = 'NamespaceTerminating';
/** A webhook chooses the status of its denial, which may have another meaning here. */
const BY_WEBHOOK = /admission webhook/;
const RETRY_AFTER_MAX_S = 60;
const WORDS_LENGTH_MAX = 1_000;

/** One sentence, and a cause per budget. */
const STATUS_LENGTH_MAX = 65_536;

interface StatusBody {
  readonly message?: string;
  readonly details?: {
    readonly retryAfterSeconds?: unknown;
    readonly causes?: readonly { readonly reason?: string; readonly message?: string }[];
  };
}

const bodyOf = (error: unknown): StatusBody => {
  if (!(error instanceof ApiException)) return {};
  const { body } = error as ApiException<unknown>;
  const value = typeof body === 'string' ? parseJsonOrUndefined(body, { lengthMax: STATUS_LENGTH_MAX }) : body;
  return (value ?? {}) as StatusBody;
};

/**
 * "The disruption budget web needs 3 healthy pods and has 3 currently" names the budget, which is in the pod's
 * namespace.
 */
const budgetIn = (message: string): string | undefined => /disruption budget (\S+)/i.exec(message)?.[1];

export const refusal = (error: unknown, namespace: string): EvictionAnswer => {
  const { message = 'the eviction was refused', details } = bodyOf(error);
  const waitS = details?.retryAfterSeconds;
  const causes = (details?.causes ?? []).flatMap((cause) => (cause.message === undefined ? [] : [cause.message]));
  const budget = causes.map(budgetIn).find((name) => name !== undefined);
  return {
    answer: 'refused',
    budget: budget === undefined ? null : `${namespace}/${budget}`,
    message: [message, ...causes].join(' ').slice(0, WORDS_LENGTH_MAX),
    ...(typeof waitS === 'number' && waitS > 0 ? { retryAfterMs: Math.min(waitS, RETRY_AFTER_MAX_S) * 1_000 } : {}),
  };
};

/** Requests the eviction of exactly this pod. */
export const evictPod = (client: KubernetesClient, { namespace, name, uid }: PodIdentity): Promise<EvictionAnswer> => {
  const operation = `evict ${namespace}/${name}`;
  return client.call(operation, async (): Promise<EvictionAnswer> => {
    try {
      await client.core.createNamespacedPodEviction({
        name,
        namespace,
        body: {
          apiVersion: 'policy/v1',
          kind: 'Eviction',
          metadata: { name, namespace },
          deleteOptions: { preconditions: { uid } },
        },
      });
      return { answer: 'evicted' };
    } catch (error) {
      const status = statusOf(error);
      const { message = '', details } = bodyOf(error);
      if (BY_WEBHOOK.test(message)) throw error;
      if (details?.causes?.some(({ reason }) => reason === NAMESPACE_TERMINATING) === true)
        throw new ExternalFailure({ operation, target: name, message: `its namespace ${namespace} is being deleted` });
      if (status === GONE || status === CONFLICT) return { answer: 'gone' };
      if (status === TOO_MANY_REQUESTS) return refusal(error, namespace);
      if (status === UNSUPPORTED && message.includes('more than one PodDisruptionBudget'))
        return refusal(error, namespace);
      throw error;
    }
  });
};
