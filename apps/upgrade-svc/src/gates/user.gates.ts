import type { UserGate } from '@fairlead/contracts';
import { deadlineAfter } from '@fairlead/service-kit';
import { createHash } from 'node:crypto';
import { parse } from 'yaml';
import type { Manifest, UpgradeCluster } from '../kubernetes/kubernetes.ports.js';
import type { Verdict } from './gates.js';
import { fails, holds } from './verdict.js';

const HTTP_LIMIT_MS = 10_000;
/** Names of Kubernetes' objects are at most this long. */
const NAME_LENGTH_MAX = 63;
const MARK_LENGTH = 8;

export interface UserGateLook {
  readonly cluster: UpgradeCluster;
  /** What the gate is asked for: another Job each time. */
  readonly asked: string;
  readonly signal: AbortSignal;
}

/** A question of the user's own. One that cannot be asked does not hold. */
export const askUserGate = (gate: UserGate, look: UserGateLook): Promise<Verdict> =>
  gate.kind === 'http' ? askHttp(gate, look) : askJob(gate, look);

const askHttp = async (
  { url, status }: Extract<UserGate, { readonly kind: 'http' }>,
  { signal }: UserGateLook,
): Promise<Verdict> => {
  const late = deadlineAfter(HTTP_LIMIT_MS);
  try {
    const answer = await fetch(url, {
      signal: AbortSignal.any([signal, late.signal]),
      redirect: 'manual',
    });
    await answer.body?.cancel();
    const facts = { status: answer.status };
    return answer.status === status ? holds(facts) : fails(`${url} answers ${answer.status}, not ${status}`, facts);
  } catch (error) {
    signal.throwIfAborted();
    const words = error instanceof Error ? (error.cause instanceof Error ? error.cause.message : error.message) : '';
    return fails(`${url} does not answer: ${words}`);
  } finally {
    late.clear();
  }
};

/** The user's Job under a name of its own for each question, so that an earlier answer is not taken for this one. */
const jobFor = (text: string, namespace: string, asked: string): Manifest => {
  const manifest = parse(text) as Manifest;
  const mark = createHash('sha256').update(asked).digest('hex').slice(0, MARK_LENGTH);
  const stem = manifest.metadata.name.slice(0, NAME_LENGTH_MAX - MARK_LENGTH - 1);
  return { ...manifest, metadata: { ...manifest.metadata, namespace, name: `${stem}-${mark}` } };
};

const askJob = async (
  gate: Extract<UserGate, { readonly kind: 'job' }>,
  { cluster, asked }: UserGateLook,
): Promise<Verdict> => {
  const manifest = jobFor(gate.manifest, gate.namespace, `${asked}/${gate.name}`);
  const { name } = manifest.metadata;
  const facts = { job: `${gate.namespace}/${name}` };
  switch (await cluster.job(gate.namespace, name)) {
    case 'absent':
      await cluster.createJob(manifest);
      return fails(`Job ${gate.namespace}/${name} has begun`, facts);
    case 'running':
      return fails(`Job ${gate.namespace}/${name} runs`, facts);
    case 'succeeded':
      return holds(facts);
    case 'failed':
      // Asked again the next time, from the start.
      await cluster.deleteJob(gate.namespace, name);
      return fails(`Job ${gate.namespace}/${name} has failed`, facts);
  }
};
